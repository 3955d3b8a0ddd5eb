"""`/approvals/`: what needs me, and may this happen?"""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from runtime.models import Approval, Event, Grant, User, Workspace
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")


def answer(client: Client, approval: Approval, verdict: str = "approve", **more: str) -> object:
    """Post the card's form."""
    data = {"verdict": verdict, "scope": "once", "seen": approval.digest, **more}
    return client.post(f"/approvals/{approval.pk}/", data)


def test_F1_every_open_question_is_on_the_page(alice: User, place: Workspace) -> None:
    asked = [factories.Story(alice, place).ask() for _ in range(3)]
    page = signed_in(alice).get("/approvals/").text
    for approval in asked:
        assert f'id="card-{approval.pk}"' in page
    assert "<title>(3) " in page


def test_the_riskiest_and_the_oldest_come_first(alice: User, place: Workspace) -> None:
    old = factories.Story(alice, place).ask()
    new = factories.Story(alice, place).ask()
    risky = factories.Story(alice, place).ask(decision="ESCALATE")
    page = signed_in(alice).get("/approvals/").text
    places = [page.index(f"card-{approval.pk}") for approval in (risky, old, new)]
    assert places == sorted(places)


def test_the_empty_inbox_says_so(alice: User) -> None:
    assert "Nothing waits for you" in signed_in(alice).get("/approvals/").text


def test_the_card_shows_everything_a_decision_needs(alice: User, place: Workspace) -> None:
    approval = factories.Story(alice, place).ask(verification_inputs=["tests/test_add.py"])
    page = signed_in(alice).get(f"/approvals/{approval.pk}/").text
    for part in (
        "implementer wants to run",
        "git push origin main",
        "a push leaves the worktree",
        "defaults/git-push",
        "medium risk",
        "canonicalise",
        "nobody allowed this before",
        "/srv/code/calc",
        "2.15 GB",
        "tests/test_add.py",
        "expires",
        "exactly this action",
        approval.digest,
    ):
        assert part in page, part


def test_approving_once_is_recorded_with_its_comment(alice: User, place: Workspace) -> None:
    approval = factories.Story(alice, place).ask()
    response = answer(signed_in(alice), approval, comment="fine <by> me")
    assert response["Location"] == f"/approvals/{approval.pk}/"  # type: ignore[index]
    approval.refresh_from_db()
    assert (approval.state, approval.decided_by) == ("approved", "alice")
    assert not Grant.objects.exists()
    event = Event.objects.get(run=approval.run_id, type="approval.approved")
    assert event.actor == "user:alice" and "fine <by> me" in event.payload


@pytest.mark.parametrize("scope", ["task", "run"])
def test_a_wider_scope_makes_a_grant(alice: User, place: Workspace, scope: str) -> None:
    approval = factories.Story(alice, place).ask()
    answer(signed_in(alice), approval, scope=scope)
    assert Grant.objects.get(approval=approval).scope == scope


def test_a_workspace_scope_needs_its_last_day(alice: User, place: Workspace) -> None:
    approval = factories.Story(alice, place).ask()
    client = signed_in(alice)
    for until, words in (("", "last day"), ("soon", "valid date"), ("2001-01-01", "not within")):
        refused = answer(client, approval, scope="workspace", until=until)
        assert refused.status_code == 400  # type: ignore[attr-defined]
        assert words in refused.text  # type: ignore[attr-defined]
    approval.refresh_from_db()
    assert approval.state == "pending"
    day = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()
    answer(client, approval, scope="workspace", until=day)
    assert Grant.objects.get(approval=approval).subject == place.name


def test_F4_a_settled_card_shows_who_and_when_and_has_no_buttons(
    alice: User, sol: User, place: Workspace
) -> None:
    approval = factories.Story(alice, place).ask()
    answer(signed_in(alice), approval, "deny", comment="not on a Friday")
    page = signed_in(sol).get(f"/approvals/{approval.pk}/").text
    assert "<strong>alice</strong> denied it" in page
    assert "not on a Friday" in page
    assert 'name="verdict"' not in page
    late = answer(signed_in(sol), approval)
    assert late.status_code == 409  # type: ignore[attr-defined]
    assert "already denied by alice" in late.text  # type: ignore[attr-defined]
    again = answer(signed_in(alice), approval, "deny", comment="not on a Friday")
    assert again.status_code == 409  # type: ignore[attr-defined]
    assert "You have given this answer before" in again.text  # type: ignore[attr-defined]
    approval.refresh_from_db()
    assert approval.state == "denied"
    assert Event.objects.filter(run=approval.run_id, type="approval.denied").count() == 1


def test_F5_an_expired_question_answers_with_its_end_and_a_next_step(
    alice: User, place: Workspace
) -> None:
    approval = factories.Story(alice, place).ask(hours=-1)
    client = signed_in(alice)
    for verdict in ("approve", "deny"):
        late = answer(client, approval, verdict)
        assert late.status_code == 409  # type: ignore[attr-defined]
        assert "expired" in late.text and "retry the task" in late.text  # type: ignore[attr-defined]
    page = client.get(f"/approvals/{approval.pk}/").text
    assert "Nobody answered in time" in page and 'name="verdict"' not in page


@pytest.mark.thorough
def test_F3_thirty_cards_each_post_exactly_one_decision(alice: User, place: Workspace) -> None:
    asked = [factories.Story(alice, place).ask() for _ in range(30)]
    client = signed_in(alice)
    chance = random.Random(7)
    chance.shuffle(asked)
    for left, approval in enumerate(reversed(asked)):
        if chance.random() < 0.5:
            part = client.get("/approvals/", headers={"hx-request": "true"}).text
            assert f'hx-post="/approvals/{approval.pk}/"' in part
        data = {"verdict": chance.choice(["approve", "deny"]), "seen": approval.digest}
        settled = client.post(
            f"/approvals/{approval.pk}/", data, headers={"hx-request": "true"}
        ).text
        assert f'id="card-{approval.pk}"' in settled and 'name="verdict"' not in settled
        assert 'id="inbox-count" class="count" hx-swap-oob="true"' in settled
        open_ones = 29 - left
        assert f"open: </span>{open_ones}</span>" in settled
    decided = Event.objects.filter(type__in=["approval.approved", "approval.denied"])
    assert sorted(decided.values_list("run", flat=True)) == sorted(a.run_id for a in asked)


def test_a_doubled_click_is_one_decision(alice: User, place: Workspace) -> None:
    approval = factories.Story(alice, place).ask()
    client = signed_in(alice)
    answer(client, approval)
    assert answer(client, approval).status_code == 409  # type: ignore[attr-defined]
    assert Event.objects.filter(run=approval.run_id, type="approval.approved").count() == 1


def test_what_was_not_seen_is_not_approved(alice: User, place: Workspace) -> None:
    approval = factories.Story(alice, place).ask()
    late = answer(signed_in(alice), approval, seen="0" * 64)
    assert late.status_code == 409  # type: ignore[attr-defined]
    assert "not the one that you saw" in late.text  # type: ignore[attr-defined]
    nothing = answer(signed_in(alice), approval, seen="")
    assert nothing.status_code == 400  # type: ignore[attr-defined]
    approval.refresh_from_db()
    assert approval.state == "pending"


def test_F20_hidden_characters_are_marked_and_warned_of(alice: User, place: Workspace) -> None:
    script = "ls \u200b\u202e\u2028\x1b" + " " * 400 + "; rm -rf ~"
    approval = factories.Story(alice, place).ask({"kind": "run_shell", "script": script})
    page = signed_in(alice).get(f"/approvals/{approval.pk}/").text
    assert "characters that cannot be seen" in page
    page = re.sub(r"<[^>]+>", "", page)
    for mark in ("U+200B", "U+202E", "U+2028", "U+001B", "400 blanks"):
        assert f"‹{mark}›" in page
    assert "rm -rf ~" in page
    assert not set("\u200b\u202e\u2028\x1b") & set(page)


def test_an_escalation_is_not_for_reviewers(alice: User, bob: User, place: Workspace) -> None:
    approval = factories.Story(bob, place).ask(decision="ESCALATE")
    page = signed_in(alice).get(f"/approvals/{approval.pk}/").text
    assert 'name="verdict"' not in page and "--role security" in page
    refused = answer(signed_in(alice), approval)
    assert refused.status_code == 403  # type: ignore[attr-defined]
    assert "Nothing was changed" in refused.text  # type: ignore[attr-defined]


def test_an_escalation_needs_four_eyes(sol: User, place: Workspace) -> None:
    own = factories.person("sol", "submitter")
    approval = factories.Story(own, place).ask(decision="ESCALATE")
    page = signed_in(sol).get(f"/approvals/{approval.pk}/").text
    assert "four eyes" in page and 'name="verdict"' not in page
    assert answer(signed_in(sol), approval).status_code == 403  # type: ignore[attr-defined]


def test_security_answers_the_escalation_of_another(
    alice: User, sol: User, place: Workspace
) -> None:
    approval = factories.Story(alice, place).ask(decision="ESCALATE")
    answer(signed_in(sol), approval)
    approval.refresh_from_db()
    assert (approval.state, approval.decided_by) == ("approved", "sol")


def test_the_submitter_answers_the_models_question(bob: User, place: Workspace) -> None:
    body = {"kind": "ask_human", "question": "Which <one>?"}
    approval = factories.Story(bob, place).ask(body, kind="question", question="Which <one>?")
    client = signed_in(bob)
    page = client.get(f"/approvals/{approval.pk}/").text
    assert "Which &lt;one&gt;?" in page and "Send the answer" in page
    empty = answer(client, approval)
    assert empty.status_code == 400  # type: ignore[attr-defined]
    answer(client, approval, comment="the left one")
    approval.refresh_from_db()
    assert (approval.state, approval.comment) == ("approved", "the left one")


def test_others_questions_are_not_there(alice: User, bob: User, place: Workspace) -> None:
    approval = factories.Story(alice, place).ask()
    client = signed_in(bob)
    assert "Nothing waits for you" in client.get("/approvals/").text
    assert client.get(f"/approvals/{approval.pk}/").status_code == 404
    assert answer(client, approval).status_code == 404  # type: ignore[attr-defined]
    assert "hidden" in client.get("/approvals/count/").text


def test_earlier_answers_to_the_same_action_are_shown(alice: User, place: Workspace) -> None:
    first = factories.Story(alice, place).ask()
    answer(signed_in(alice), first, "deny", comment="no pushes today")
    second = factories.Story(alice, place).ask()
    page = signed_in(alice).get(f"/approvals/{second.pk}/").text
    assert "The same action before" in page and "no pushes today" in page
