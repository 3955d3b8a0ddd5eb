"""Who comes in: links, passwords, log-out; and what every page refuses to those outside."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from runtime.models import User
from runtime.people import service
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")

PAGES = (
    "/",
    "/runs/new",
    "/runs/01/",
    "/runs/01/header/",
    "/runs/01/card/",
    "/runs/01/earlier/",
    "/approvals/",
    "/approvals/01/",
    "/approvals/count/",
    "/audit/",
    "/audit/verify/system/",
    "/audit/export/system/",
    "/policy/",
    "/workspaces/",
    "/system/",
    f"/artifacts/{'a' * 64}/",
    "/password/",
)
WISHES = ("/demo/", "/runs/01/cancel/", "/runs/01/retry/", "/approvals/01/", "/logout/", "/policy/")


@pytest.mark.parametrize("address", PAGES)
def test_no_page_is_shown_to_somebody_outside(client: Client, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/?next=")


@pytest.mark.parametrize("address", WISHES)
def test_no_wish_is_taken_without_a_token(alice: User, address: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    assert strict.post(address).status_code == 403


@pytest.mark.parametrize("address", ["/demo/", "/runs/01/cancel/", "/runs/01/retry/", "/theme/"])
def test_no_wish_is_taken_by_get(alice: User, address: str) -> None:
    assert signed_in(alice).get(address).status_code == 405


def test_a_link_signs_in_and_leads_to_the_runs(client: Client, alice: User) -> None:
    link = service.make_link(alice, "http://testserver").removeprefix("http://testserver")
    answer = client.get(link)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert "alice" in client.get("/").text


def test_a_used_link_says_so(client: Client, alice: User) -> None:
    link = service.make_link(alice, "http://testserver").removeprefix("http://testserver")
    client.get(link)
    again = Client().get(link)
    assert again.status_code == 403
    assert "m31a user link NAME" in again.text


def test_a_preview_does_not_use_up_a_link(client: Client, alice: User) -> None:
    link = service.make_link(alice, "http://testserver").removeprefix("http://testserver")
    client.head(link)
    assert client.get(link).status_code == 302


def test_a_password_signs_in_once_it_is_chosen(client: Client, alice: User) -> None:
    inside = signed_in(alice)
    chosen = "correct horse battery staple"
    answer = inside.post("/password/", {"new_password1": chosen, "new_password2": chosen})
    assert answer["Location"] == "/"
    assert inside.get("/").status_code == 200  # the session lives on
    assert client.post("/login/", {"username": "alice", "password": chosen})["Location"] == "/"
    assert "old_password" in inside.get("/password/").text


def test_a_wrong_password_is_told_at_the_form(client: Client, alice: User) -> None:
    answer = client.post("/login/", {"username": "alice", "password": "wrong"})
    assert answer.status_code == 200
    assert "correct username and password" in answer.text


@pytest.mark.thorough
def test_guessing_is_locked_out(client: Client, alice: User) -> None:
    for _ in range(5):
        client.post("/login/", {"username": "alice", "password": "wrong"})
    assert client.post("/login/", {"username": "alice", "password": "wrong"}).status_code == 429


def test_the_way_back_stays_on_this_site(alice: User) -> None:
    alice.set_password("pass-word-77")
    alice.save()
    given = {"username": "alice", "password": "pass-word-77", "next": "https://evil.example/"}
    assert Client().post("/login/", given)["Location"] == "/"
    answer = Client().post("/theme/", {"theme": "dark", "next": "//evil.example/"})
    assert answer["Location"] == "/"


def test_signing_out_ends_the_session(alice: User) -> None:
    client = signed_in(alice)
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/").status_code == 302


def test_health_is_told_without_signing_in(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"ok": True})


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_server_renders_the_chosen_colours(alice: User, theme: str) -> None:
    client = signed_in(alice)
    client.post("/theme/", {"theme": theme, "next": "/approvals/"})
    assert f'<html lang="en" data-theme="{theme}">' in client.get("/").text
    client.post("/theme/", {"theme": "system"})
    assert '<html lang="en">' in client.get("/").text


def test_every_page_has_a_strict_policy_and_keeps_to_it(alice: User) -> None:
    answer = signed_in(alice).get("/")
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Cache-Control"] == "no-store"
    assert "HX-Request" in answer["Vary"]


def test_a_page_without_the_right_says_which_role_helps(mallory: User) -> None:
    client = signed_in(mallory)
    for name, role in (("audit", "auditor"), ("new", "submitter")):
        answer = client.get(reverse(name))
        assert answer.status_code == 403
        assert f"--role {role}" in answer.text or "--role security" in answer.text


def test_an_address_that_leads_nowhere_is_told(alice: User) -> None:
    answer = signed_in(alice).get("/nowhere/")
    assert answer.status_code == 404
    assert "not yours to see" in answer.text
