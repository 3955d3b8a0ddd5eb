"""What was lost or changed in the tables is made anew from the journal, and never on a broken one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from runtime import approvals, tasks
from runtime.core.errors import NotFound, Refused, Unavailable
from runtime.core.ids import SYSTEM_RUN
from runtime.journal import verify
from runtime.journal.append import now
from runtime.journal.book import ensure_system, open_system
from runtime.journal.kinds import PersonSignedOut, TaskSucceeded
from runtime.models import (
    Approval,
    Artifact,
    Event,
    Grant,
    PolicyDecision,
    Run,
    Task,
    Trace,
)
from runtime.runs import folding, replay
from tests.store.player import picture, rich
from tests.store.store_kit import (
    a_run,
    ask,
    claimed,
    dead,
    nothing_changed,
    recompute,
    sql,
    state,
    without_guards,
)

pytestmark = pytest.mark.usefixtures("both")

DELETED: dict[str, Callable[[Run], Any]] = {
    "run": lambda run: _delete_run(run),
    "tasks": lambda run: Task.objects.filter(run=run).delete(),
    "approvals": lambda run: _delete_approvals(run),
    "grants": lambda run: Grant.objects.all().delete(),
    "traces": lambda run: Trace.objects.filter(run=run.pk).delete(),
    "decisions": lambda run: PolicyDecision.objects.filter(run=run.pk).delete(),
    "artifacts": lambda run: Artifact.objects.filter(run=run).delete(),
}


def _delete_approvals(run: Run) -> None:
    Grant.objects.filter(approval__run=run).delete()
    Approval.objects.filter(run=run).delete()


def _delete_run(run: Run) -> None:
    """Everything but the events."""
    _delete_approvals(run)
    for model in (Trace, PolicyDecision):
        model._default_manager.filter(run=run.pk).delete()
    Run.objects.filter(pk=run.pk).delete()


def test_X23_whatever_was_deleted_is_back_as_it_was(people):
    run = rich(people)
    DELETED["tasks"] = lambda run: (_delete_approvals(run), Task.objects.filter(run=run).delete())
    before = picture(run.pk)
    for what, delete in DELETED.items():
        delete(run)
        assert replay.check(run.pk) != "", what
        replay.rebuild(run.pk)
        assert replay.check(run.pk) == "", what
        assert picture(run.pk) == before, what
        assert verify.verify(run.pk)["ok"]
    recompute(run.pk)


def test_X23_every_run_is_found_by_its_events_alone(people):
    made = [rich(people), a_run()]
    for run in made:
        _delete_run(run)
    assert replay.runs() == sorted(run.pk for run in made)
    assert "its row is missing" in replay.check(made[1].pk)
    for run in replay.runs():
        replay.rebuild(run)
    assert [replay.check(run) for run in replay.runs()] == ["", ""]


def test_X23_the_systems_chain_has_its_row_again_and_goes_on(people):
    ensure_system()
    with open_system() as chain:
        chain.append(PersonSignedOut(name="zoe"), actor="operator")
    ends = Run.objects.filter(pk=SYSTEM_RUN).values_list("event_seq", "head_hash")
    before = ends.get()
    replay.rebuild(SYSTEM_RUN)
    assert ends.get() == before
    Run.objects.filter(pk=SYSTEM_RUN).delete()
    assert "its row is missing" in replay.check(SYSTEM_RUN)
    with pytest.raises(Unavailable, match="replay system --rebuild"):
        ensure_system()
    replay.rebuild(SYSTEM_RUN)
    assert ends.get() == before and replay.check(SYSTEM_RUN) == ""
    ensure_system()
    with open_system() as chain:
        chain.append(PersonSignedOut(name="yan"), actor="operator")
    assert verify.verify(SYSTEM_RUN)["ok"]


def test_a_rebuilt_run_goes_on(people):
    run = a_run()
    claimed(run)
    _delete_run(run)
    replay.rebuild(run.pk)
    task = Task.objects.get(run=run.pk)
    assert (task.state, task.lease_owner != "") == ("running", True)
    Task.objects.update(lease_expires_at=now() - timedelta(hours=1))
    Task.objects.update(lease_owner=dead())
    assert tasks.reap() == 1
    claim = tasks.claim("x", run=run.pk)
    with tasks.held(claim) as hold:
        hold.move("succeeded", TaskSucceeded(summary="done"))
    recompute(run.pk)
    assert replay.check(run.pk) == ""


def test_a_task_in_a_wrong_state_is_put_right_with_its_edges(people):
    run = a_run("a", "b", needs={"b": ["a"]})
    without_guards()
    Task.objects.filter(run=run, key="b").update(state="succeeded")
    Task.objects.filter(run=run, key="a").update(state="skipped")
    assert "state is" in replay.check(run.pk)
    replay.rebuild(run.pk)
    assert replay.check(run.pk) == ""
    with tasks.held(claimed(run)) as hold:
        hold.move("succeeded", TaskSucceeded())
    assert state(Task.objects.get(run=run, key="b").pk) == "ready"


def test_rows_that_no_event_made_are_found_and_removed(people):
    run = a_run()
    Artifact.objects.create(
        run=run, sha256="0" * 64, name="n", kind="k", size=1, created_at=run.created_at
    )
    assert "no event refers to it" in replay.check(run.pk)
    replay.rebuild(run.pk)
    assert replay.check(run.pk) == ""
    assert not Artifact.objects.exists()
    Task.objects.create(
        id="x" * 26, run=run, key="x", kind="k", role="r", state="ready", available_at=now()
    )
    assert "no event made this row" in replay.check(run.pk)


def test_a_run_without_events_is_a_difference_and_an_unknown_one_is_not_found():
    Run.objects.create(pk="r" * 26, head_hash="h", created_at=now())
    assert "no event made this row" in replay.check("r" * 26)
    assert "r" * 26 in replay.runs()
    for call in (replay.check, replay.rebuild):
        with pytest.raises(NotFound, match="nowhere"):
            call("nowhere")


@pytest.mark.parametrize("fault", ["changed", "last removed", "removed", "inserted"])
def test_nothing_is_built_on_a_broken_chain(fault):
    run = claimed().run
    without_guards()
    of = "WHERE run = %s AND seq = %s"
    if fault == "changed":
        sql(f"UPDATE runtime_event SET payload = '{{}}' {of}", run, 2)
    elif fault == "inserted":
        event = Event.objects.filter(run=run).values().last()
        Event.objects.create(**{**event, "id": None, "seq": 4})
    else:
        sql(f"DELETE FROM runtime_event {of}", run, 3 if fault == "last removed" else 2)
    same = nothing_changed(run)
    with pytest.raises(Refused, match="broken"):
        replay.rebuild(run)
    assert same()
    assert not verify.verify(run)["ok"]


def test_an_event_that_cannot_be_followed_is_named(people):
    run = a_run()
    without_guards()
    sql("UPDATE runtime_event SET payload = '{}' WHERE run = %s AND seq = 1", run.pk)
    assert "event 1 (run.submitted) cannot be followed" in replay.check(run.pk)
    with pytest.raises(folding.Unfoldable, match="event 1"):
        replay.expected(run.pk)


def test_a_lost_artifact_of_a_moved_field_is_a_difference(people):
    from runtime import blobs

    approval = ask(claimed())
    approvals.decide(approval.pk, by=people.bob, verdict="deny", comment="é" * 4000)
    assert replay.check(approval.run_id) == ""
    reference = Artifact.objects.get(name="approval.denied comment")
    kept = blobs.get(reference.sha256)
    blobs.path(reference.sha256).unlink()
    assert reference.sha256 in replay.check(approval.run_id)
    blobs.put(kept)
    assert replay.check(approval.run_id) == ""


def test_times_are_compared_to_the_microsecond(people):
    run = a_run()
    moment: datetime = Run.objects.get(pk=run.pk).created_at
    Run.objects.filter(pk=run.pk).update(created_at=moment + timedelta(microseconds=1))
    assert "created_at" in replay.check(run.pk)
