"""People, roles and single-use links."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from runtime.core.errors import BadInput, NotFound, Refused
from runtime.models import Event, Run, SignInLink, User
from runtime.people import ROLES, rights, service

pytestmark = pytest.mark.usefixtures("site")


def _secret(link: str) -> str:
    return link.partition("?link=")[2]


def test_the_first_person_is_admin_submitter_reviewer_and_security() -> None:
    first = service.default_user()
    assert set(first.groups.values_list("name", flat=True)) == set(service.FIRST_ROLES)
    assert not first.is_superuser
    assert service.default_user() == first


def test_a_role_taken_from_the_first_person_stays_away() -> None:
    first = service.default_user()
    first.groups.remove(first.groups.get(name="security"))
    assert "security" not in service.default_user().groups.values_list("name", flat=True)


def test_an_admin_alone_may_not_approve() -> None:
    admin = service.add("ada", ["admin"], by=None)
    assert not rights.has(admin, "decide_approval")
    assert not rights.has(admin, "decide_critical")
    with pytest.raises(Refused) as caught:
        rights.need(admin, "decide_critical")
    assert "security" in caught.value.remedy


def test_a_superuser_has_only_what_the_roles_give() -> None:
    root = User.objects.create_superuser("root0")
    assert not rights.has(root, "decide_critical")
    Run.objects.create(id="R" * 26, submitted_by="alice", created_at=timezone.now())
    assert not Run.objects.visible_to(root).exists()


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("", ["submitter"]),
        ("a b", ["submitter"]),
        ("-x", ["submitter"]),
        ("x" * 65, ["submitter"]),
        ("eve", []),
        ("eve", ["boss"]),
        ("eve", ["submitter", "submitter"]),
    ],
)
def test_a_bad_name_or_role_adds_nobody(name: str, roles: list[str]) -> None:
    with pytest.raises(BadInput) as caught:
        service.add(name, roles, by=None)
    assert caught.value.remedy
    assert not User.objects.filter(username=name).exists()


def test_adding_again_adds_the_roles_that_are_missing() -> None:
    service.add("eve", ["submitter"], by=None)
    service.add("eve", ["submitter", "auditor"], by=None)
    again = service.add("eve", ["auditor"], by=None)
    assert set(again.groups.values_list("name", flat=True)) == {"submitter", "auditor"}
    events = Event.objects.filter(run="system", type="person.added", payload__contains='"eve"')
    assert [event.payload for event in events.order_by("seq")] == [
        '{"name":"eve","roles":["submitter"]}',
        '{"name":"eve","roles":["auditor"]}',
    ]


def test_every_role_gives_something() -> None:
    rights.install()
    rights.install()
    for role in ROLES:
        assert service.add(
            f"p-{role}"[:20].replace("p-", "p"), [role], by=None
        ).get_all_permissions()


def test_an_unknown_person_is_named() -> None:
    with pytest.raises(NotFound, match="nobody-here"):
        service.get("nobody-here")


def test_a_link_signs_in_once() -> None:
    eve = service.add("eve", ["submitter"], by=None)
    secret = _secret(service.make_link(eve, "http://127.0.0.1:8031/"))
    assert service.redeem(secret) == eve
    assert service.redeem(secret) is None


def test_a_link_ends_after_fifteen_minutes() -> None:
    eve = service.add("eve", ["submitter"], by=None)
    before = timezone.now()
    secret = _secret(service.make_link(eve, "http://127.0.0.1:8031"))
    end = SignInLink.objects.get(user=eve).expires_at
    assert before <= end - timedelta(minutes=15) <= timezone.now()
    assert service.redeem(secret, now=end) is None
    assert service.redeem(secret, now=end - timedelta(seconds=1)) == eve


def test_only_the_hash_of_a_link_is_stored() -> None:
    eve = service.add("eve", ["submitter"], by=None)
    link = service.make_link(eve, "http://127.0.0.1:8031")
    assert link.startswith("http://127.0.0.1:8031/login/?link=")
    stored = SignInLink.objects.get(user=eve)
    assert _secret(link) not in stored.digest
    assert not Event.objects.filter(payload__contains=_secret(link)).exists()


def test_a_person_made_inactive_is_not_signed_in() -> None:
    eve = service.add("eve", ["submitter"], by=None)
    secret = _secret(service.make_link(eve, "http://127.0.0.1:8031"))
    User.objects.filter(pk=eve.pk).update(is_active=False)
    assert service.redeem(secret) is None


@pytest.mark.parametrize("secret", ["", "x", "\udcff", "x" * 5000])
def test_a_made_up_link_is_refused(secret: str) -> None:
    assert service.redeem(secret) is None
