"""Questions to people: who may answer, once, in time, and what the answer then permits."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest

from runtime import approvals, runs, tasks
from runtime.core.errors import BadInput, Conflict, NotFound, Refused
from runtime.journal import read
from runtime.journal.append import now
from runtime.journal.book import open_run
from runtime.models import Approval, Grant, Run, Task
from runtime.runs import replay
from tests.kit import Cast
from tests.store.store_kit import (
    a_run,
    ask,
    asked,
    at_once,
    claimed,
    nothing_changed,
    recompute,
    run_state,
    state,
    types,
)

pytestmark = pytest.mark.usefixtures("both")


def _people(people: Cast) -> dict[str, object]:
    """Everybody, and two who have much but not the role itself."""
    from django.contrib.auth.models import Permission

    root = people.mallory.__class__.objects.create_superuser("root")
    direct = people.mallory.__class__.objects.create_user("direct")
    for name in ("decide_approval", "decide_critical"):
        direct.user_permissions.add(Permission.objects.get(codename=name))
    gone = people.bob.__class__.objects.get(pk=people.bob.pk)
    return {
        "alice": people.alice,
        "bob": gone,
        "sol": people.sol,
        "mallory": people.mallory,
        "root": root,
        "direct": direct,
    }


MAY = {
    ("ASK", "action", "bob"),
    ("ASK", "question", "bob"),
    ("ASK", "question", "alice"),
    ("ESCALATE", "action", "sol"),
}
"""alice submitted; she has the roles submitter and admin."""


def test_who_may_answer_what(people):
    everybody = _people(people)
    cases = [("ASK", "action"), ("ASK", "question"), ("ESCALATE", "action")]
    for (decision, kind), verdict in itertools.product(cases, ["approve", "deny"]):
        for name, person in everybody.items():
            approval = asked(decision=decision, kind=kind)
            same = nothing_changed(approval.run_id)
            what = (decision, kind, name)

            def answer(approval=approval, person=person, verdict=verdict):
                return approvals.decide(approval.pk, by=person, verdict=verdict, comment="so")

            if what in MAY:
                assert (
                    answer().state
                    == f"{verdict.rstrip('ey')}{'ed' if verdict == 'approve' else 'ied'}"
                )
                assert not same()
                continue
            with pytest.raises(Refused) as caught:
                answer()
            assert not isinstance(caught.value, Conflict), what
            assert same(), what
            assert name in str(caught.value)


def test_a_reviewer_who_submitted_may_answer_an_ASK_and_never_an_ESCALATE(people):
    from runtime.people import service

    boss = service.add("boss", ["submitter", "reviewer", "security", "admin"], by=None)
    mild, grave = asked(by="boss"), asked(by="boss", decision="ESCALATE")
    assert approvals.decide(mild.pk, by=boss, verdict="approve").state == "approved"
    for verdict in ("approve", "deny"):
        with pytest.raises(Refused, match="four eyes") as caught:
            approvals.decide(grave.pk, by=boss, verdict=verdict)
        assert "user add" in caught.value.remedy
    assert approvals.decide(grave.pk, by=people.sol, verdict="approve").state == "approved"


def test_a_right_counts_as_it_is_now_and_not_as_it_was_read(people):
    approval, bob = asked(), people.bob
    assert bob.has_perm("runtime.decide_approval")
    people.bob.__class__.objects.get(pk=bob.pk).groups.clear()
    with pytest.raises(Refused):
        approvals.decide(approval.pk, by=bob, verdict="approve")
    sol, grave = people.sol, asked(decision="ESCALATE")
    assert sol.has_perm("runtime.decide_critical")
    type(sol).objects.filter(pk=sol.pk).update(is_active=False)
    with pytest.raises(Refused):
        approvals.decide(grave.pk, by=sol, verdict="approve")


def test_an_answer_is_event_wake_up_and_ready_task_at_once(people):
    approval = asked()
    assert (state(approval.task_id), run_state(approval.run_id)) == ("waiting", "waiting")
    task = Task.objects.get(pk=approval.task_id)
    assert (task.lease_owner, task.lease_expires_at) == ("", None)
    done = approvals.decide(approval.pk, by=people.bob, verdict="approve", comment="fine")
    assert (done.state, done.decided_by, done.comment, done.scope) == (
        "approved",
        "bob",
        "fine",
        "once",
    )
    assert (state(approval.task_id), run_state(approval.run_id)) == ("ready", "running")
    assert types(approval.run_id)[-4:] == [
        "approval.requested",
        "task.waiting",
        "approval.approved",
        "task.ready",
    ]
    event = read.last(approval.run_id, 2)[0]
    assert event.actor == "user:bob"
    assert event.payload == {
        "approval": approval.pk,
        "action": approval.action,
        "kind": "git_push",
        "scope": "once",
        "comment": "fine",
    }
    recompute(approval.run_id)
    assert replay.check(approval.run_id) == ""


def test_F4_the_same_answer_again_changes_nothing_and_another_is_told_what_stands(people):
    from runtime.people import service

    eve = service.add("eve", ["reviewer"], by=None)
    approval = asked()
    first = approvals.decide(approval.pk, by=people.bob, verdict="approve")
    same = nothing_changed(approval.run_id)
    again = approvals.decide(approval.pk, by=people.bob, verdict="approve", comment="twice")
    assert (again.state, again.decided_at) == ("approved", first.decided_at)
    for by, verdict in ((people.bob, "deny"), (eve, "approve"), (eve, "deny")):
        with pytest.raises(Conflict, match="already approved by bob") as caught:
            approvals.decide(approval.pk, by=by, verdict=verdict)
        assert caught.value.outcome == "approved"
    assert same()
    card = approvals.card(Approval.objects.get(pk=approval.pk))
    assert card["sentence"] == "implementer wants to push"


def test_two_people_at_once_give_one_answer(people):
    from runtime.people import service

    eve, bob, approval = service.add("eve", ["reviewer"], by=None), people.bob, asked()
    results = at_once(
        [
            lambda: approvals.decide(approval.pk, by=bob, verdict="approve"),
            lambda: approvals.decide(approval.pk, by=eve, verdict="deny"),
            lambda: approvals.decide(approval.pk, by=bob, verdict="approve"),
        ]
    )
    stands = Approval.objects.get(pk=approval.pk)
    for result in results:
        assert isinstance(result, (Approval, Conflict)), result
        outcome = result.state if isinstance(result, Approval) else result.outcome
        assert outcome == stands.state
    answers = [t for t in types(approval.run_id) if t in {"approval.approved", "approval.denied"}]
    assert len(answers) == 1
    assert replay.check(approval.run_id) == ""


def _overdue(approval: Approval) -> None:
    """Time passes: the question, in row and record, would have ended before now."""
    Approval.objects.filter(pk=approval.pk).update(expires_at=now() - timedelta(seconds=1))


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_F5_a_late_answer_is_told_that_the_question_expired(people, verdict):
    approval = asked()
    _overdue(approval)
    for _ in range(2):
        with pytest.raises(Conflict) as caught:
            approvals.decide(approval.pk, by=people.bob, verdict=verdict)
        assert caught.value.outcome == "expired"
    assert Approval.objects.get(pk=approval.pk).state == "expired"
    assert types(approval.run_id)[-2:] == ["approval.expired", "task.ready"]
    assert types(approval.run_id).count("approval.expired") == 1
    assert state(approval.task_id) == "ready"


def test_F5_time_alone_ends_a_question_and_is_no_denial(people):
    late, open_ = asked(), asked()
    _overdue(late)
    assert approvals.expire_due() == 1
    assert approvals.expire_due() == 0
    assert Approval.objects.get(pk=late.pk).state == "expired"
    assert Approval.objects.get(pk=late.pk).decided_by is None
    assert Approval.objects.get(pk=open_.pk).state == "pending"
    assert "approval.denied" not in types(late.run_id)


def test_a_question_that_cannot_be_ended_keeps_no_other_from_its_end(people, caplog):
    bad, good = asked(), asked()
    Approval.objects.update(expires_at=now() - timedelta(seconds=1))
    Run.objects.filter(pk=bad.run_id).update(head_hash="no hash at all: ü")
    assert approvals.expire_due() == 1
    assert Approval.objects.get(pk=good.pk).state == "expired"
    assert Approval.objects.get(pk=bad.pk).state == "pending"
    assert f"Approval {bad.pk} could not be expired" in caplog.text


def test_expiry_and_an_answer_at_once_end_in_one_of_the_two(people):
    bob, approval = people.bob, asked()
    _overdue(approval)
    at_once(
        [
            approvals.expire_due,
            lambda: approvals.decide(approval.pk, by=bob, verdict="approve"),
            approvals.expire_due,
        ]
    )
    ends = [t for t in types(approval.run_id) if t.startswith("approval.") and "req" not in t]
    assert ends == ["approval.expired"]


def test_F9_F22_a_cancelled_run_takes_its_questions_along_in_one_transaction(people):
    run = a_run("a", "b", "c")
    questions = [ask(claimed(run)), ask(claimed(run))]
    assert approvals.waiting(people.bob).open == 2
    runs.cancel(run.pk, people.alice)
    assert approvals.waiting(people.bob).open == 0
    assert run_state(run.pk) == "cancelled"
    for question in questions:
        with pytest.raises(Conflict) as caught:
            approvals.decide(question.pk, by=people.bob, verdict="approve")
        assert caught.value.outcome == "cancelled"
    reasons = [e.payload["reason"] for e in read.every(run.pk) if e.type == "approval.cancelled"]
    assert reasons == ["interrupted"] * 2
    assert "approval.denied" not in types(run.pk)
    assert replay.check(run.pk) == ""


def test_an_answer_to_something_else_than_was_seen_is_refused(people):
    approval = asked(digest="a" * 64)
    same = nothing_changed(approval.run_id)
    with pytest.raises(Conflict, match="not the one that you saw") as caught:
        approvals.decide(approval.pk, by=people.bob, verdict="approve", seen_digest="b" * 64)
    assert caught.value.outcome == "pending"
    assert same()
    approvals.decide(approval.pk, by=people.bob, verdict="approve", seen_digest="a" * 64)


def test_a_superseded_question_is_void(people):
    approval = asked()
    with open_run(approval.run_id) as book:
        approvals.supersede(book, approval, "the file changed")
    with pytest.raises(Conflict) as caught:
        approvals.decide(approval.pk, by=people.bob, verdict="approve")
    assert caught.value.outcome == "superseded"


WRONG = [
    ({"verdict": "maybe"}, "verdict"),
    ({"scope": "forever"}, "scope"),
    ({"scope": "workspace"}, "scope"),
    ({"scope": "workspace:"}, "scope"),
    ({"scope": "workspace:tomorrow"}, "scope"),
    ({"scope": "workspace:2020-01-01"}, "scope"),
    ({"scope": "workspace:2999-01-01"}, "scope"),
    ({"scope": "run:2030-01-01"}, "scope"),
    ({"comment": "x" * 4001}, "comment"),
    ({"comment": "a\0b"}, "comment"),
    ({"comment": "a\ud800b"}, "comment"),
]


def test_a_wrong_answer_is_refused_naming_the_field_and_changes_nothing(people):
    approval = asked()
    same = nothing_changed(approval.run_id)
    for wish, field in WRONG:
        with pytest.raises(BadInput, match=field):
            approvals.decide(approval.pk, by=people.bob, **{"verdict": "approve", **wish})
        assert same(), wish


def test_a_long_comment_is_kept_whole(people):
    approval, comment = asked(), "é" * 4000
    approvals.decide(approval.pk, by=people.bob, verdict="deny", comment=comment)
    assert Approval.objects.get(pk=approval.pk).comment == comment
    assert replay.check(approval.run_id) == ""
    recompute(approval.run_id)


def test_an_unknown_approval_is_not_found(people):
    with pytest.raises(NotFound, match="nowhere"):
        approvals.decide("nowhere", by=people.bob, verdict="approve")


def test_the_answer_to_a_question_is_the_comment_and_is_not_empty(people):
    question = asked(kind="question")
    with pytest.raises(BadInput, match="comment"):
        approvals.decide(question.pk, by=people.alice, verdict="approve", comment="  ")
    with pytest.raises(BadInput, match="scope"):
        approvals.decide(question.pk, by=people.alice, verdict="approve", comment="x", scope="run")
    done = approvals.decide(question.pk, by=people.alice, verdict="approve", comment="blue")
    assert (done.state, done.comment) == ("approved", "blue")
    assert not Grant.objects.exists()


def test_a_denial_is_never_remembered(people):
    approval = asked()
    approvals.decide(approval.pk, by=people.bob, verdict="deny", scope="run")
    assert not Grant.objects.exists()
    assert "grant.created" not in types(approval.run_id)


def test_the_inbox_shows_what_a_person_may_see_the_gravest_first(people):
    mine, grave, other = asked(), asked(decision="ESCALATE"), asked(by="bob")
    assert [a.pk for a in approvals.pending(people.bob)] == [grave.pk, mine.pk, other.pk]
    assert [a.pk for a in approvals.pending(people.alice)] == [grave.pk, mine.pk, other.pk]
    assert approvals.waiting(people.mallory).open == 0
    from runtime.people import service

    carl = service.add("carl", ["submitter"], by=None)
    own = asked(by="carl")
    assert [a.pk for a in approvals.pending(carl)] == [own.pk]


def test_similar_decisions_are_those_of_the_same_action_latest_first(people):
    first, second = asked(key="a" * 64), asked(key="a" * 64)
    asked(key="b" * 64)
    third = asked(key="a" * 64)
    assert [a.pk for a in approvals.similar(third)] == [second.pk, first.pk]
    assert [a.pk for a in approvals.similar(third, limit=1)] == [second.pk]


def test_a_restart_loses_nothing_of_a_question(people):
    """The card is a row, not a promise in memory."""
    from django.db import connections

    approval = asked()
    connections.close_all()
    again = Approval.objects.get(pk=approval.pk)
    assert approvals.card(again) == approvals.card(approval)
    assert (again.key, again.digest, again.state) == (approval.key, approval.digest, "pending")
    assert tasks.idle()
    assert approvals.decide(again.pk, by=people.bob, verdict="deny").state == "denied"
    assert tasks.ready_count() == 1
