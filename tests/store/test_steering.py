"""Cancel and retry as services, and what stays refused."""

from __future__ import annotations

import pytest

from runtime import runs, tasks
from runtime.core.errors import BadInput, NotFound, Refused, StaleFence
from runtime.journal import read
from runtime.journal.append import append
from runtime.journal.kinds import ActionStarted, TaskCancelled, TaskFailed, TaskSucceeded
from runtime.models import Approval, Run, Task
from runtime.runs import replay
from tests.store.store_kit import (
    a_run,
    ask,
    at_once,
    claimed,
    here,
    nothing_changed,
    recompute,
    run_state,
    state,
    types,
)

pytestmark = pytest.mark.usefixtures("both")


def _fail(run: Run) -> tasks.Claim:
    claim = claimed(run)
    with tasks.held(claim) as hold:
        hold.move("failed", TaskFailed(reason="step_limit"), reason="step_limit")
    return claim


def _succeed(claim: tasks.Claim) -> None:
    with tasks.held(claim) as hold:
        hold.move("succeeded", TaskSucceeded(summary="done"))


def test_R3_what_has_not_started_is_cancelled_at_once(people):
    keys = "abcdef"
    run = a_run(*keys, needs={key: [keys[n]] for n, key in enumerate(keys[1:])})
    runs.cancel(run.pk, people.alice, "not needed")
    assert set(Task.objects.values_list("state", flat=True)) == {"cancelled"}
    assert (run_state(run.pk), Run.objects.get(pk=run.pk).reason) == ("cancelled", "cancelled")
    assert types(run.pk)[2:] == [
        "run.cancel_requested",
        *["task.cancelled"] * 6,
        "run.cancelled",
    ]
    assert tasks.claim(here()) is None
    recompute(run.pk)
    assert replay.check(run.pk) == ""


def test_R4_a_running_task_is_asked_to_stop_and_its_holder_writes_no_more(people):
    claim = claimed()
    runs.status(claim.run)
    runs.cancel(claim.run, people.alice)
    assert (state(claim.task), run_state(claim.run)) == ("cancelling", "running")
    assert (tasks.peek(claim), tasks.renew(claim)) == ("cancel", "cancel")
    with pytest.raises(StaleFence):
        append(claim.by(), [ActionStarted(action="a", kind="verify")], task={"steps": 1})
    with pytest.raises(StaleFence):
        _succeed(claim)
    same = nothing_changed(claim.run)
    assert runs.cancel(claim.run, people.alice).cancel_requested
    assert same()
    with tasks.held(claim, states=("cancelling",)) as hold:
        hold.move("cancelled", TaskCancelled())
    assert (state(claim.task), run_state(claim.run)) == ("cancelled", "cancelled")
    assert replay.check(claim.run) == ""


def test_X12_a_cancel_and_a_success_at_once_end_in_one_of_the_two(people):
    alice = people.alice
    for _ in range(3):
        claim = claimed(a_run())
        at_once([lambda c=claim: _succeed(c), lambda c=claim: runs.cancel(c.run, alice)])
        if state(claim.task) == "cancelling":
            with tasks.held(claim, states=("cancelling",)) as hold:
                hold.move("cancelled", TaskCancelled())
        ended = [t for t in types(claim.run) if t in {"run.succeeded", "run.cancelled"}]
        assert len(ended) == 1
        assert types(claim.run)[-1] == ended[0]
        assert run_state(claim.run) == ended[0].removeprefix("run.")
        assert replay.check(claim.run) == ""


@pytest.mark.parametrize("end", ["succeeded", "failed", "cancelled"])
def test_R6_an_ended_run_is_not_cancelled(people, end):
    run = a_run()
    if end == "succeeded":
        _succeed(claimed(run))
    elif end == "failed":
        _fail(run)
    else:
        runs.cancel(run.pk, people.alice)
    same = nothing_changed(run.pk)
    with pytest.raises(Refused, match=f"The run is {end}"):
        runs.cancel(run.pk, people.alice)
    if end != "failed":
        with pytest.raises(Refused, match=f"The run is {end}"):
            runs.retry(run.pk, people.alice)
    assert same()


@pytest.mark.parametrize("verb", [runs.cancel, runs.retry])
def test_only_the_submitter_or_one_who_sees_all_may_steer_a_run(people, verb):
    from runtime.people import service

    run = a_run(by="carl")
    if verb is runs.retry:
        _fail(run)
    same = nothing_changed(run.pk)
    for person in (people.mallory, people.bob, people.sol):
        with pytest.raises(Refused, match=person.get_username()):
            verb(run.pk, person)
    with pytest.raises(Refused, match="no run"):
        verb("system", people.alice)
    with pytest.raises(NotFound):
        verb("nowhere", people.alice)
    assert same()
    carl = service.add("carl", ["submitter"], by=None)
    assert verb(run.pk, carl).pk == run.pk


def test_R10_a_retry_is_bounded_by_what_the_caller_gives(people):
    run = a_run(max_attempts=3)
    _fail(run)
    again = runs.retry(run.pk, people.alice, 2)
    assert (again.state, again.generation, again.max_attempts, again.reason) == (
        "running",
        1,
        2,
        "",
    )
    claim = _fail(run)
    assert (claim.attempt, claim.fence) == (2, 2)
    same = nothing_changed(run.pk)
    with pytest.raises(Refused, match="2 of 2 attempts"):
        runs.retry(run.pk, people.alice, 2)
    assert same()
    assert types(run.pk).count("run.failed") == 2
    recompute(run.pk)
    assert replay.check(run.pk) == ""


@pytest.mark.parametrize("bound", [0, -1, 101])
def test_a_bound_that_is_none_is_refused(people, bound):
    run = a_run()
    _fail(run)
    with pytest.raises(BadInput, match="max_attempts"):
        runs.retry(run.pk, people.alice, bound)


def test_nothing_is_retried_unasked():
    run = a_run(max_attempts=9)
    _fail(run)
    assert tasks.reap() == 0
    assert tasks.claim(here()) is None
    assert tasks.idle()


def test_a_retry_takes_along_what_was_skipped_for_the_failure_and_nothing_else(people):
    run = a_run("a", "b", "c", "d", "e", needs={"c": ["a", "b"], "d": ["c"], "e": ["b"]})
    ids = dict(Task.objects.filter(run=run).values_list("key", "id"))
    Task.objects.filter(pk=ids["e"]).update(state="skipped")
    good = tasks.claim(here(), run=run.pk, prefer=ids["b"])
    _succeed(good)
    assert _fail(run).task == ids["a"]
    assert {key: state(ids[key]) for key in "abcde"} == {
        "a": "failed",
        "b": "succeeded",
        "c": "skipped",
        "d": "skipped",
        "e": "skipped",
    }
    runs.retry(run.pk, people.alice)
    assert {key: state(ids[key]) for key in "acde"} == {
        "a": "ready",
        "c": "blocked",
        "d": "blocked",
        "e": "skipped",
    }
    _succeed(claimed(run))
    assert state(ids["c"]) == "ready"
    _succeed(claimed(run))
    _succeed(claimed(run))
    assert run_state(run.pk) == "succeeded"
    recompute(run.pk)


def test_a_cancelled_question_leaves_the_record_in_order(people):
    approval = ask(claimed())
    runs.cancel(approval.run_id, people.alice)
    assert [t for t in types(approval.run_id) if not t.startswith("task.")] == [
        "run.submitted",
        "approval.requested",
        "run.cancel_requested",
        "approval.cancelled",
        "run.cancelled",
    ]
    assert Approval.objects.get(pk=approval.pk).state == "cancelled"


@pytest.mark.parametrize("reason", ["a\0b", "a\ud800"])
def test_a_reason_that_no_store_holds_is_refused(people, reason):
    run = a_run()
    with pytest.raises(BadInput, match="reason"):
        runs.cancel(run.pk, people.alice, reason)


def test_a_long_reason_is_cut_and_fits(people):
    run = a_run()
    runs.cancel(run.pk, people.alice, "\U0001f600" * 5000)
    asked = next(e for e in read.every(run.pk) if e.type == "run.cancel_requested")
    assert asked.payload["reason"] == "\U0001f600" * 500
