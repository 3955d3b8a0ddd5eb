"""The tests are tested: with a guard taken out, the invariants report what then goes wrong.

Each case runs twice. With the guard nothing is reported, and the attempt is turned away.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from threading import Event
from typing import Any

import pytest
from django.conf import settings
from django.db.transaction import atomic

from runtime import tasks
from runtime.agent import proposing
from runtime.agent.session import Session
from runtime.core.errors import M31AError
from runtime.journal import append as journal
from runtime.journal import book as books
from runtime.journal.append import append
from runtime.journal.kinds import ActionStarted, TaskSucceeded
from runtime.models import Run, Task
from runtime.tasks import claims, leases, moves
from tests.durable.invariants import too_soon, violations
from tests.durable.sabotage import without
from tests.durable.scene import Scene
from tests.kit import Cast
from tests.store.store_kit import ELSEWHERE, a_run, claimed, dead

Act = Callable[[pytest.MonkeyPatch, Cast], str]
"""Does what a guard should turn away, and returns the run."""
Sabotage = Callable[[pytest.MonkeyPatch], None]
RENEWED: dict[tuple[str, int], datetime] = {}
"""When a holder renewed its lease: by task and fence."""


def _try(act: Callable[[], Any]) -> None:
    """Do what should be turned away; whether it is, the record says."""
    try:
        act()
    except (M31AError, AssertionError):
        return


def a_stale_writer_appends(patch: pytest.MonkeyPatch, cast: Cast) -> str:
    old = claimed(owner=dead())
    tasks.reap()
    claimed(Run.objects.get(pk=old.run))
    _try(lambda: append(old.by(), [ActionStarted(action="a", kind="verify")], task={"steps": 1}))
    return old.run


def a_stale_holder_completes(patch: pytest.MonkeyPatch, cast: Cast) -> str:
    old = claimed(owner=dead())
    tasks.reap()
    claimed(Run.objects.get(pk=old.run))

    def complete() -> None:
        with moves.held(old) as hold:
            hold.move("succeeded", TaskSucceeded(summary="mine"))

    _try(complete)
    return old.run


def a_child_is_claimed_before_its_parent_ended(patch: pytest.MonkeyPatch, cast: Cast) -> str:
    run = a_run("first", "second", needs={"second": ["first"]})
    # As after a restore from a backup: the row says ready, its edge does not.
    Task.objects.filter(run=run, key="second").update(state="ready", priority=9)
    tasks.claim(ELSEWHERE, run=run.pk)
    return run.pk


def a_reaper_acts_on_what_it_read_before_a_renewal(patch: pytest.MonkeyPatch, cast: Cast) -> str:
    patch.setattr(settings.M31A, "LEASE_SECONDS", 30)
    claim = claimed(owner=ELSEWHERE)
    Task.objects.filter(pk=claim.task).update(lease_expires_at=journal.now() - claims.lease() * 9)
    hit = leases.faults.hit

    def renewed_meanwhile(point: str) -> None:
        hit(point)
        if point == "reap.before":
            assert tasks.renew(claim) == "held"
            RENEWED[claim.task, claim.fence] = journal.now()

    patch.setattr(leases.faults, "hit", renewed_meanwhile)
    tasks.reap()
    return claim.run


def an_answer_is_used_by_two(patch: pytest.MonkeyPatch, cast: Cast) -> str:
    """Two who both read the answer when nobody had used it."""
    scene = Scene(cast)
    scene.do(scene.hand_over, scene.work, scene.decide)
    claim = claimed(scene.told.run)
    start = proposing._start_approved

    def twice(*args: Any, **kwargs: Any) -> Any:
        first = start(*args, **kwargs)
        _try(lambda: start(*args, **kwargs))
        return first

    patch.setattr(proposing, "_start_approved", twice)
    session = Session(claim, stop=Event(), cancel=Event(), lost=Event())
    try:
        assert session.state.pending is not None
        proposing.reconsider(session, session.state.pending)
    finally:
        session.close()
    return claim.run


def a_head_is_set_back(patch: pytest.MonkeyPatch, cast: Cast) -> str:
    """A writer that read the head before another's event, as without the lock."""
    claim = claimed()
    stale = books.Book(Run.objects.get(pk=claim.run), journal.now())
    append(claim.by(), [ActionStarted(action="a", kind="verify")], task={"steps": 1})
    stale.set(steps=1)

    def flush() -> None:
        with atomic():
            stale.flush()

    _try(flush)
    return claim.run


CASES: list[tuple[Act, Sabotage, str]] = [
    (
        a_stale_writer_appends,
        lambda p: without(p, journal, "_prove", " == 1", " >= 0"),
        "stale write",
    ),
    (
        a_stale_holder_completes,
        lambda p: without(p, moves, "held", " or task.fence != claim.fence", ""),
        "stale write",
    ),
    (
        a_child_is_claimed_before_its_parent_ended,
        lambda p: without(p, claims, "_take", "if _UNMET.exists(task.pk):", "if False:"),
        "claimed before its needs",
    ),
    (
        a_reaper_acts_on_what_it_read_before_a_renewal,
        lambda p: without(
            p,
            leases,
            "_take_back",
            "guard.select_for_update().first()",
            "Task.objects.get(pk=task_id)",
        ),
        "lease was renewed",
    ),
    (
        an_answer_is_used_by_two,
        lambda p: without(p, proposing, "_start_approved", ', "consumed_fence": 0}', "}"),
        "is used again",
    ),
    (
        a_head_is_set_back,
        lambda p: without(p, books, "move_head", ', "event_seq": before}', "}"),
        "the chain is broken",
    ),
]


def found(run: str, what: str) -> list[str]:
    """The violations of one sort."""
    wrong = [*violations(run), *too_soon(run, RENEWED, claims.lease())]
    return [text for text in wrong if what in text]


@pytest.mark.parametrize(
    ("act", "sabotage", "what"), CASES, ids=[act.__name__ for act, _, _ in CASES]
)
def test_a_guard_that_is_gone_is_noticed(
    hall: Cast, monkeypatch: pytest.MonkeyPatch, act: Act, sabotage: Sabotage, what: str
):
    with monkeypatch.context() as patch:
        assert found(act(patch, hall), what) == []
    with monkeypatch.context() as patch:
        sabotage(patch)
        assert found(act(patch, hall), what) != []
