"""What people may do besides yes and no: change, cover, answer many, take back, or nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from runtime import approvals, runs
from runtime.agent import state
from runtime.core.errors import BadInput, Conflict, Refused
from runtime.gating import policies, recorded
from runtime.journal.append import now
from runtime.journal.read import every
from runtime.models import Approval, Grant
from runtime.people import service
from runtime.runs import replay
from runtime.worker import inline
from tests.agent.scenes import answer, shell, tool, tree
from tests.durable import faulty
from tests.kit import FINISH, VERIFY, play, submit, workspace

APPEND = shell("echo line >> log.txt")
OTHER = shell("echo other >> log.txt")
STEPS = [APPEND, VERIFY, FINISH]


def waiting(cast, steps=STEPS, **more):
    return play(cast.alice, steps, mode="safe", **more)


def edit(told, by, action, **more):
    return approvals.edit(told.pending.pk, by=by, action=action, **more)


def test_an_edited_action_goes_through_the_gate_and_runs_in_place_of_the_first(cast):
    workspace(cast.alice)
    told = waiting(cast)
    first = told.pending
    edit(told, cast.bob, OTHER, seen_digest=first.digest)
    told.work()
    assert (tree(told) / "log.txt").read_text() == "other\n"
    assert told.of("action.proposed")[0]["body"] == APPEND
    assert told.of("action.edited")[0]["body"] == OTHER
    old, new = Approval.objects.filter(run=told.run).order_by("id")
    assert (old.state, new.state, new.decided_by) == ("superseded", "approved", "bob")
    assert old.digest != new.digest
    assert told.types.count("approval.consumed") == 1
    assert told.state == "succeeded"
    assert replay.check(told.run.pk) == ""


def test_the_model_is_told_that_the_action_was_changed(cast):
    workspace(cast.alice)
    told = waiting(cast, [tool("mv", "notes.txt", "n.txt"), FINISH])
    edit(told, cast.bob, tool("ls", "-l", "notes.txt"))
    told.work()
    events = ((row.type, row.task, row.payload) for row in every(told.run.pk))
    turn = state.fold(told.events[1].task, events).turns[0]
    assert turn.wanted["args"] == ["-l", "notes.txt"]
    assert turn.result.startswith("[bob changed the action")


def test_an_edit_that_is_dangerous_is_refused_by_the_gate(cast):
    workspace(cast.alice)
    told = waiting(cast)
    edit(told, cast.bob, shell("rm -rf ~"))
    told.work()
    assert told.of("action.refused")[0]["kind"] == "run_shell"
    assert "approval.approved" not in told.types
    assert told.state == "succeeded", "the model went on"


def test_an_edit_that_needs_security_waits_for_it(cast):
    workspace(cast.alice)
    told = waiting(cast)
    edit(told, cast.bob, shell("cat .env"))
    told.work()
    assert told.state == "waiting"
    assert told.pending.decision == "ESCALATE" and told.pending.decided_by is None


def test_an_edit_is_checked_like_an_answer(cast):
    workspace(cast.alice)
    told = waiting(cast)
    for action, error in (
        (APPEND, BadInput),
        ({"kind": "run_shell"}, BadInput),
        (tool("ls"), BadInput),
        (shell("echo ghp_" + "a1B2" * 9), BadInput),
    ):
        with pytest.raises(error):
            edit(told, cast.bob, action)
    with pytest.raises(Refused):
        edit(told, cast.mallory, OTHER)
    with pytest.raises(Conflict):
        edit(told, cast.bob, OTHER, seen_digest="0" * 64)
    open_one = told.pending
    edit(told, cast.bob, OTHER)
    with pytest.raises(Conflict) as late:
        approvals.edit(open_one.pk, by=cast.bob, action=OTHER)
    assert late.value.outcome == "superseded"


def test_the_edited_action_is_what_a_change_of_the_rules_judges(cast):
    workspace(cast.alice)
    told = waiting(cast)
    edit(told, cast.bob, shell("cat .env"))
    told.work()
    found = recorded.latest(told.run.pk, told.pending.action)
    assert found is not None and ".env" in found.raw["script"]


def test_a_wider_answer_counts_at_once_for_the_same_question_elsewhere(cast):
    workspace(cast.alice)
    one, two = waiting(cast), waiting(cast)
    three = waiting(cast, [OTHER, FINISH])
    day = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    answer(one, cast.bob, scope=f"workspace:{day}")
    covered = Approval.objects.get(run=two.run)
    assert (covered.state, covered.decided_by) == ("approved", "bob")
    assert covered.comment == f"Covered by the answer to {Approval.objects.get(run=one.run).pk}."
    assert three.pending.state == "pending"
    one.work()
    assert (one.state, two.state) == ("succeeded", "succeeded")
    assert replay.check(two.run.pk) == ""


def test_a_wider_answer_gives_nobody_a_right_that_they_lack(cast):
    workspace(cast.alice)
    escalated = shell("cat .env")
    service.add("tess", ["submitter", "security"], by=None)
    tess = service.get("tess")
    hers = play(tess, [escalated, FINISH])
    his = play(cast.alice, [escalated, FINISH])
    assert hers.pending.decision == "ESCALATE"
    day = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    answer(his, tess, scope=f"workspace:{day}")
    assert hers.pending.state == "pending", "four eyes hold for what is covered, too"
    again = play(tess, [escalated, FINISH])
    assert again.pending.decision == "ESCALATE", "and for what is granted"


TAGS = [tool("git", "tag", name) for name in ("one", "two", "three", "four")]
QUERY = [tool("psql", "-c", "select 1")] * 4


@pytest.mark.thorough
@pytest.mark.parametrize(("steps", "words"), [(TAGS, ("tag",)), (QUERY, None)])
def test_F10_a_remembered_rule_or_answer_counts_on_in_new_runs_and_after_a_restart(
    cast, steps, words
):
    workspace(cast.alice, allow=["psql"])
    first = play(cast.alice, [*steps[:2], FINISH])
    offered = [one.digest for one in approvals.offers(first.pending) if one.argv == words]
    until = (datetime.now(UTC) + timedelta(days=3)).date()
    answer(first, cast.bob, scope=f"workspace:{until}", rule=offered[0] if words else None)
    first.work()
    second = play(cast.alice, [steps[2], FINISH])
    third = submit(cast.alice, [steps[3], FINISH])

    def restarted() -> None:
        policies.forget()
        inline.work(until_idle=True)

    assert faulty.end_of(faulty.start(restarted)) == 0
    grant = Grant.objects.get()
    assert bool(grant.rule) is bool(words)
    assert [told.state for told in (first, second, third)] == ["succeeded"] * 3
    assert [told.types.count("approval.requested") for told in (first, second, third)] == [1, 0, 0]
    for told in (first, second, third):
        decided = told.of("policy.decided")[-2]
        assert (decided["decision"], decided["source"]) == ("ALLOW", "grant")
        assert decided["rule"] == grant.pk


def test_a_revoked_answer_is_asked_about_again(cast):
    workspace(cast.alice)
    first = waiting(cast)
    day = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    answer(first, cast.bob, scope=f"workspace:{day}")
    first.work()
    grant = Grant.objects.get()
    assert list(approvals.live_grants(cast.bob)) == [grant]
    with pytest.raises(Refused):
        approvals.revoke(grant.pk, by=cast.mallory)
    for _ in range(2):
        approvals.revoke(grant.pk, by=cast.sol)
    assert first.types.count("grant.revoked") == 1
    assert not approvals.live_grants(cast.bob).exists()
    assert waiting(cast).pending.state == "pending"
    assert replay.check(first.run.pk) == ""


def test_several_questions_are_answered_each_for_itself(cast):
    workspace(cast.alice)
    one, two, three = (waiting(cast) for _ in range(3))
    chosen = [(told.pending.pk, told.pending.digest) for told in (one, two, three)]
    answer(three, cast.bob, "deny")
    chosen[1] = (chosen[1][0], "0" * 64)
    results = approvals.decide_many(chosen, by=cast.bob, verdict="approve")
    assert [(found.approval, found.state) for found in results] == [
        (chosen[0][0], "approved"),
        (chosen[1][0], "pending"),
        (chosen[2][0], "denied"),
    ]
    assert "not the one that you saw" in results[1].error
    assert "already denied by bob" in results[2].error
    with pytest.raises(BadInput):
        approvals.decide_many([], by=cast.bob, verdict="approve")


def expire(told):
    Approval.objects.filter(state="pending").update(expires_at=now() - timedelta(seconds=1))
    assert approvals.expire_due() == 1
    told.work()


def test_F8_the_same_question_is_not_asked_a_fourth_time(cast):
    workspace(cast.alice)
    told = waiting(cast, [APPEND] * 6 + [FINISH])
    for _ in range(3):
        expire(told)
    assert told.types.count("approval.requested") == 3
    assert (told.state, told.reason) == ("failed", "approvals_expired")
    runs.retry(told.run.pk, cast.alice, 5)
    told.work()
    assert told.pending.state == "pending", "after a retry it is asked again"


def test_F8_other_questions_do_not_count(cast):
    workspace(cast.alice)
    told = waiting(cast, [APPEND, APPEND, OTHER, OTHER, FINISH])
    for _ in range(4):
        expire(told)
    assert told.state == "succeeded"


BRANCHES = [tool("git", "tag", "one"), tool("git", "tag", "two"), tool("git", "tag", "-d", "one")]


def test_F11_a_rule_that_was_shown_is_remembered_and_asks_again_beyond_it(cast):
    workspace(cast.alice)
    told = play(cast.alice, [*BRANCHES, FINISH])
    (rule,) = [one for one in approvals.offers(told.pending) if one.argv == ("tag",)]
    answer(told, cast.bob, scope="run", rule=rule.digest)
    told.work()
    asked = told.of("approval.requested")
    assert [one["action"] for one in asked][1:] == [told.of("action.proposed")[2]["action"]]
    decided = told.of("policy.decided")
    assert any(
        one["source"] == "grant" and one["rule"] == Grant.objects.get().pk for one in decided
    )
    assert told.of("grant.created")[0]["rule"] == rule.as_data()
    assert replay.check(told.run.pk) == ""


@pytest.mark.parametrize(("scope", "rule"), [("once", None), ("run", "0" * 64)])
def test_a_rule_that_was_not_offered_or_is_for_once_is_refused(cast, scope, rule):
    workspace(cast.alice)
    told = play(cast.alice, [*BRANCHES, FINISH])
    chosen = rule or approvals.offers(told.pending)[0].digest
    with pytest.raises(BadInput) as refused:
        answer(told, cast.bob, scope=scope, rule=chosen)
    assert refused.value.field == "rule"
    assert told.pending.state == "pending"
    assert not Grant.objects.exists()


def test_a_rule_covers_other_open_questions_at_once_and_is_taken_back(cast):
    workspace(cast.alice)
    first, second = (play(cast.alice, [step, FINISH]) for step in BRANCHES[:2])
    rule = next(one for one in approvals.offers(first.pending) if one.argv == ("tag",))
    until = (datetime.now(UTC) + timedelta(days=3)).date()
    answer(first, cast.bob, scope=f"workspace:{until}", rule=rule.digest)
    assert Approval.objects.get(run=second.run).state == "approved"
    approvals.revoke(Grant.objects.get().pk, by=cast.bob)
    third = play(cast.alice, [BRANCHES[0], FINISH])
    assert third.state == "waiting"
