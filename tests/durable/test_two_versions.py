"""Old and new workers side by side: what a newer one wrote, an older one leaves alone.

This process, and whatever it starts without more, is the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from runtime import tasks
from runtime.journal.newer import Newer
from runtime.models import NewerKind
from runtime.runs import replay
from runtime.worker import queue, reconcile, wakeup
from tests.agent.scenes import tree
from tests.durable import newer_code
from tests.durable.newer_code import by
from tests.durable.scene import FREE, Scene
from tests.kit import Cast


class Left(NamedTuple):
    """A newer worker's death at the allowed command: what is in the record then, and what the next
    newer worker must make of it."""

    code: Callable[[], None]
    plan: str
    kind: str
    unknown: int


LEFT = [
    Left(newer_code.started_2, "step.after_effect=kill@2", "action.started version 2", 1),
    Left(newer_code.completed_2, "step.after_commit=kill@4", "action.completed version 2", 0),
    Left(newer_code.new_kind, "step.after_effect=kill@2", "action.weighed version 1", 1),
]


@pytest.fixture(
    params=["hall", pytest.param("pg_hall", marks=pytest.mark.postgres)], ids=["sqlite", "postgres"]
)
def place(request: pytest.FixtureRequest) -> Iterator[Cast]:
    """A site on each database. No run of another test is ready there."""
    cast: Cast = request.getfixturevalue(request.param)
    tasks.reap()
    yield cast


def left_by(code: Callable[[], None], plan: str, cast: Cast) -> Scene:
    """A run whose newer worker died in the middle."""
    scene = Scene(cast)
    scene.do(scene.hand_over)
    scene.die(by(code, scene.work), plan)
    assert scene.ledger == [FREE]
    return scene


@pytest.mark.parametrize("left", LEFT, ids=lambda left: left.code.__name__)
def test_what_a_newer_worker_left_is_done_by_a_newer_one_and_by_no_other(place: Cast, left: Left):
    scene = left_by(left.code, left.plan, place)
    written, files = scene.told.types, (tree(scene.told) / "notes.txt").read_text()
    other = Scene(place)
    scene.do(other.hand_over, scene.work, other.work, scene.work)
    assert other.told.state == "waiting", "other runs go on meanwhile"
    assert scene.told.types == written, "no claim, no repetition, no unknown outcome, no restoring"
    assert scene.ledger == [FREE]
    assert (tree(scene.told) / "notes.txt").read_text() == files
    assert scene.task.attempt == 1
    assert replay.check(scene.run) in ("", f"run {scene.run}: {_said(scene, left)}")

    newer = [by(left.code, stage) for stage in (scene.work, scene.decide, scene.work)]
    scene.do(*newer)
    ended = by(left.code, lambda: scene.ended_well(lost=1, unknown=left.unknown))
    scene.do(ended)


def _said(scene: Scene, left: Left) -> str:
    return (
        f"Run {scene.run} was recorded by a newer version: {left.kind}. This version leaves it"
        " alone; start that version, which goes on with it."
    )


def test_a_trace_of_a_newer_version_is_no_difference_that_an_older_one_would_mend(hall: Cast):
    left = LEFT[1]
    scene = left_by(left.code, left.plan, hall)
    assert replay.check(scene.run) == f"run {scene.run}: {_said(scene, left)}"
    with pytest.raises(Newer, match=r"action\.completed version 2"):
        replay.rebuild(scene.run)
    assert replay.check(scene.run), "nothing was rebuilt"


def test_an_older_worker_looks_once_and_does_not_spin(place: Cast, monkeypatch):
    scene = left_by(LEFT[0].code, LEFT[0].plan, place)
    written = scene.told.types
    looks: list[str] = []
    plain = tasks.claim
    monkeypatch.setattr(tasks, "claim", lambda *a, **k: looks.append("") or plain(*a, **k))
    for _ in range(3):
        wakeup.drain(scene.task.pk)
    assert len(looks) == 6, "each message looks twice, as where nothing is ready"
    assert reconcile.once().reaped == 0
    assert queue.top_up() == 0, "nobody is woken for it in vain"
    assert tasks.idle(), "nothing here is for this version to do"
    assert scene.told.types == written


def test_a_record_that_nobody_noted_is_given_back_once_and_costs_no_attempt(place: Cast):
    """The need stands beside the record; where it was lost, the record itself is believed."""
    scene = left_by(LEFT[0].code, LEFT[0].plan, place)
    NewerKind.objects.filter(run=scene.run).delete()
    written = len(scene.told.types)
    scene.do(scene.work, scene.work, scene.work)
    assert scene.told.types[written:] == [
        "task.lease_expired",
        "task.ready",
        "task.claimed",
        "task.released",
    ]
    assert NewerKind.objects.filter(run=scene.run, type="action.started", v=2).count() == 1
    assert scene.ledger == [FREE]
    newer = [by(LEFT[0].code, stage) for stage in (scene.work, scene.decide, scene.work)]
    scene.do(*newer)
    scene.do(by(LEFT[0].code, lambda: scene.ended_well(lost=1, unknown=1)))


def test_an_older_version_can_still_end_a_run_that_only_a_newer_one_goes_on_with(place: Cast):
    scene = left_by(LEFT[0].code, LEFT[0].plan, place)
    scene.do(scene.cancel, scene.reap)
    assert scene.told.state == "cancelled"
    assert scene.told.types[-2:] == ["task.cancelled", "run.cancelled"]
    assert scene.ledger == [FREE]
