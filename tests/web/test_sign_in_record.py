"""Who came, who went and who was not let in stands in the record, and never by which secret."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from runtime.journal import read, verify
from runtime.models import Event, User
from runtime.people import service, sessions
from tests.web.conftest import signed_in

PASSWORD = "correct horse battery"
pytestmark = pytest.mark.usefixtures("site")


@pytest.fixture(autouse=True)
def nothing_unsaid() -> None:
    sessions._unsaid = 0


def told() -> list[tuple[str, str, dict[str, Any]]]:
    """What the chain of the system says of people signing in and out."""
    kinds = ("person.signed", "person.password", "sign_in.", "link.")
    return [
        (event.type, event.actor, event.payload)
        for event in read.every("system")
        if event.type.startswith(kinds)
    ]


def with_password(user: User) -> None:
    user.set_password(PASSWORD)
    user.save()


def test_a_link_is_on_the_record_when_it_is_made_used_and_used_again(alice: User):
    link = service.make_link(alice, "http://testserver").removeprefix("http://testserver")
    assert Client().get(link)["Location"] == "/"
    assert Client().get(link).status_code == 403
    assert Client().get("/login/?link=nobodys").status_code == 403
    assert told() == [
        ("link.made", "runtime", {"name": "alice"}),
        ("person.signed_in", "user:alice", {"name": "alice", "by": "link"}),
        ("sign_in.refused", "runtime", {"name": "alice", "by": "link", "unsaid": 0}),
        ("sign_in.refused", "runtime", {"name": "", "by": "link", "unsaid": 0}),
    ]
    secret = link.partition("=")[2]
    assert not Event.objects.filter(payload__contains=secret).exists()
    assert verify.verify("system")["ok"]


def test_a_link_that_ran_out_or_whose_person_was_made_inactive_lets_nobody_in(alice: User):
    def secret() -> str:
        return service.make_link(alice, "").partition("link=")[2]

    late = timezone.now() + timedelta(minutes=16)
    assert service.redeem(secret(), now=late) is None
    mine = secret()
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert service.redeem(mine) is None
    refused = [event[2] for event in told() if event[0] == "sign_in.refused"]
    assert refused == [{"name": "alice", "by": "link", "unsaid": 0}] * 2


@pytest.mark.thorough
def test_a_password_is_on_the_record_when_it_is_right_and_when_it_is_wrong(alice: User):
    with_password(alice)
    client = Client()
    for name, given in (("alice", "wrong"), (PASSWORD, "alice"), ("alice", PASSWORD)):
        client.post("/login/", {"username": name, "password": given})
    client.post("/login/", {"username": "", "password": ""})
    assert client.post("/logout/").status_code == 302
    assert client.post("/logout/").status_code == 302, "there is nobody left to go"
    assert told() == [
        ("sign_in.refused", "runtime", {"name": "alice", "by": "password", "unsaid": 0}),
        ("sign_in.refused", "runtime", {"name": "", "by": "password", "unsaid": 0}),
        ("person.signed_in", "user:alice", {"name": "alice", "by": "password"}),
        ("person.signed_out", "user:alice", {"name": "alice"}),
    ]
    for secret in (PASSWORD, "wrong"):
        assert not Event.objects.filter(payload__contains=secret).exists()


def test_a_new_password_is_on_the_record(alice: User):
    client = signed_in(alice)
    new = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    assert client.post("/password/", new).status_code == 302
    assert told() == [("person.password_set", "user:alice", {"name": "alice"})]


def test_strangers_cannot_fill_the_record(alice: User, monkeypatch: pytest.MonkeyPatch):
    for _ in range(sessions.MOST_REFUSALS + 5):
        sessions.refused("nobody")
    assert len(told()) == sessions.MOST_REFUSALS
    later = sessions.now() + sessions.WINDOW + timedelta(seconds=1)
    monkeypatch.setattr(sessions, "now", lambda: later)
    sessions.refused("alice")
    assert told()[-1][2] == {"name": "alice", "by": "password", "unsaid": 5}


def test_the_audit_shows_it(sol: User, alice: User):
    with_password(alice)
    Client().post("/login/", {"username": "alice", "password": "wrong"})
    sessions.refused("nobody")
    Client().post("/login/", {"username": "alice", "password": PASSWORD})
    page = signed_in(sol).get("/audit/?run=system").text
    for words in ("<strong>alice</strong> was not let in by password", "somebody unknown was not"):
        assert words in page
    assert "<strong>alice</strong> signed in by password" in page


def test_a_password_that_cannot_be_journaled_is_not_set(cast, client, monkeypatch):
    alice = cast.alice
    client.force_login(alice)

    def full(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("runtime.journal.book.Book.append", full)
    chosen = {"new_password1": "a-long-and-odd-one-7", "new_password2": "a-long-and-odd-one-7"}
    with pytest.raises(OSError, match="full"):
        client.post("/password/", chosen)
    alice.refresh_from_db()
    assert not alice.has_usable_password()


def test_a_new_password_takes_nothing_back_that_was_changed_meanwhile(cast, client, monkeypatch):
    alice, slow = cast.alice, User.set_password
    hashed_alone: list[bool] = []

    def dismissed_meanwhile(self: User, raw: str | None) -> None:
        hashed_alone.append(not connection.in_atomic_block)
        slow(self, raw)
        User.objects.filter(pk=self.pk).update(is_active=False)

    client.force_login(alice)
    monkeypatch.setattr(User, "set_password", dismissed_meanwhile)
    client.post("/password/", {"new_password1": PASSWORD, "new_password2": PASSWORD})
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD) and not alice.is_active
    assert hashed_alone == [True], "nobody else can write while the chain is locked"
