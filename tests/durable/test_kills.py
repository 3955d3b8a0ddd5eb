"""SIGKILL at every fault point: a fresh process finishes, nothing is lost and nothing runs twice."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from runtime.models import Approval, Run
from tests.clock import best_of_three
from tests.durable.scene import ASKED, FREE, SLOW, STEPS, Scene
from tests.kit import Cast

BOTH = (ASKED, FREE)


class Kill(NamedTuple):
    """Which stage's process dies where, and what must have become of it in the end."""

    stage: str
    plan: str
    lost: int = 1
    unknown: int = 0
    ledger: tuple[str, ...] = BOTH

    @property
    def point(self) -> str:
        """The fault point."""
        return self.plan.partition("=")[0]


KILLS = [
    Kill("hand_over", "submit.before_commit=kill", lost=0),
    Kill("hand_over", "submit.after_commit=kill", lost=0),
    Kill("hand_over", "blob.before_fsync=kill", lost=0),
    Kill("work", "claim.after_select=kill", lost=0),
    Kill("work", "claim.before_commit=kill", lost=0),
    Kill("work", "claim.after_commit=kill"),
    Kill("work", "renew.before=kill"),
    # The edit, then the command that is allowed at once.
    Kill("work", "step.before_effect=kill@1"),
    Kill("work", "step.before_effect=kill@2", unknown=1, ledger=(ASKED,)),
    Kill("work", "step.after_effect=kill@1"),
    Kill("work", "step.after_effect=kill@2", unknown=1),
    Kill("work", "edit.before_rename=kill"),
    Kill("work", "edit.after_rename=kill"),
    # Appends: the edit starts, it is done, the command starts, it is done.
    Kill("work", "step.before_commit=kill@1"),
    Kill("work", "step.before_commit=kill@2"),
    Kill("work", "step.before_commit=kill@4", unknown=1),
    Kill("work", "step.after_commit=kill@3", unknown=1, ledger=(ASKED,)),
    Kill("work", "step.after_commit=kill@4"),
    Kill("work", "suspend.before_commit=kill"),
    Kill("work", "suspend.after_commit=kill", lost=0),
    Kill("decide", "decide.before_commit=kill", lost=0),
    Kill("decide", "decide.after_commit=kill", lost=0),
    Kill("decide", "wake.before_send=kill", lost=0),
    # The approved command, then the verification, then the delivery.
    Kill("rest", "consume.after_commit=kill", unknown=1, ledger=(FREE,)),
    Kill("rest", "step.after_effect=kill@1", unknown=1),
    Kill("rest", "step.after_effect=kill@2", unknown=1),
    Kill("rest", "blob.before_fsync=kill"),
    Kill("rest", "blob.after_rename=kill"),
    Kill("rest", "deliver.after_commit_object=kill"),
    Kill("rest", "complete.before_commit=kill"),
    Kill("rest", "complete.after_commit=kill", lost=0),
]
OTHER_KILLS = [
    "cancel.before_commit",
    "cancel.after_commit",
    "reap.before",
    "reap.before_commit",
    "reap.after_commit",
    "expire.before_commit",
    "expire.after_commit",
    "remind.before_commit",
    "remind.after_commit",
]
"""Points of those who neither hand over, work nor decide."""

CHOSEN = {
    ("hand_over", "submit.before_commit=kill"),
    ("work", "claim.before_commit=kill"),
    ("work", "claim.after_commit=kill"),
    ("work", "step.after_effect=kill@2"),
    ("work", "step.before_commit=kill@4"),
    ("work", "suspend.before_commit=kill"),
    ("work", "suspend.after_commit=kill"),
    ("decide", "decide.before_commit=kill"),
    ("decide", "decide.after_commit=kill"),
    ("rest", "consume.after_commit=kill"),
    ("rest", "complete.before_commit=kill"),
    ("rest", "complete.after_commit=kill"),
}
"""What differs on PostgreSQL is transactions and locks, so these are done there, too."""


def play(scene: Scene, kill: Kill) -> None:
    """Every stage in its process; the one that is to die is done again by a fresh one."""
    stages = {
        "hand_over": scene.hand_over,
        "work": scene.work,
        "decide": scene.decide,
        "rest": scene.work,
    }
    for name, stage in stages.items():
        if name == kill.stage:
            scene.die(stage, kill.plan)
            if scene.slow:
                scene.still_thinking()
        scene.do(stage)


def finished(scene: Scene, kill: Kill) -> None:
    """The run came to its end, once, and the record says what happened."""
    scene.ended_well(lost=kill.lost, unknown=kill.unknown)
    assert tuple(sorted(scene.ledger)) == kill.ledger
    told = scene.told
    assert Run.objects.filter(key=scene.key).count() == 1
    assert told.types.count("approval.requested") == 1, "nobody is asked twice"
    assert told.types.count("approval.approved") == 1
    assert told.types.count("approval.consumed") == 1


def name(kill: Kill) -> str:
    """How a case is called."""
    return f"{kill.stage}-{kill.plan.replace('=kill', '')}"


def _scene(cast: Cast, kill: Kill) -> Scene:
    slow = kill.point == "renew.before"
    return Scene(cast, [SLOW, *STEPS[1:]] if slow else None)


@pytest.mark.parametrize("kill", KILLS, ids=name)
@best_of_three
def test_R2_F42_a_process_that_is_killed_at_a_point_costs_nothing_but_time(hall: Cast, kill: Kill):
    scene = _scene(hall, kill)
    play(scene, kill)
    finished(scene, kill)


@pytest.mark.postgres
@pytest.mark.parametrize("kill", [k for k in KILLS if (k.stage, k.plan) in CHOSEN], ids=name)
@best_of_three
def test_R2_F42_the_same_on_postgresql(pg_hall: Cast, kill: Kill):
    scene = _scene(pg_hall, kill)
    play(scene, kill)
    finished(scene, kill)


@pytest.mark.parametrize("point", ["cancel.before_commit", "cancel.after_commit"])
def test_F22_a_cancel_that_is_killed_is_whole_or_was_not(hall: Cast, point: str):
    scene = Scene(hall)
    scene.do(scene.hand_over, scene.work)
    scene.die(scene.cancel, f"{point}=kill")
    done = point == "cancel.after_commit"
    assert scene.told.state == ("cancelled" if done else "waiting")
    approval = Approval.objects.get(run=scene.run)
    assert approval.state == ("cancelled" if done else "pending")
    if not done:
        scene.do(scene.cancel)
    scene.do(scene.work)
    assert scene.wrong() == []
    assert scene.told.types.count("run.cancelled") == 1
    assert scene.ledger == [FREE]


@pytest.mark.parametrize("point", ["reap.before", "reap.before_commit", "reap.after_commit"])
def test_a_reaper_that_is_killed_takes_back_whole_or_not_at_all(hall: Cast, point: str):
    scene = Scene(hall)
    scene.do(scene.hand_over)
    scene.die(scene.work, "step.after_commit=kill@4")
    scene.die(scene.reap, f"{point}=kill")
    taken = point == "reap.after_commit"
    assert scene.task.state == ("ready" if taken else "running")
    assert scene.task.crashes == int(taken)
    scene.do(scene.reap, scene.reap)
    assert scene.task.crashes == 1
    scene.do(scene.work, scene.decide, scene.work)
    scene.ended_well(lost=1)


@pytest.mark.parametrize("point", ["expire.before_commit", "expire.after_commit"])
def test_an_expiry_that_is_killed_is_whole_or_was_not(hall: Cast, point: str):
    scene = Scene(hall)
    scene.do(scene.hand_over, scene.work)
    scene.die(scene.expire, f"{point}=kill")
    done = point == "expire.after_commit"
    assert Approval.objects.get(run=scene.run).state == ("expired" if done else "pending")
    scene.do(scene.expire, scene.expire, scene.work)
    told = scene.told
    assert told.types.count("approval.expired") == 1
    assert told.last("action.refused")["by"] == "expiry"
    assert told.state == "succeeded"
    assert scene.wrong() == []
    assert scene.ledger == [FREE], "no answer is no permission"


def test_one_worker_after_another_dies_at_the_next_step(hall: Cast):
    """Four deaths in a row at ever later places use up four attempts, and the fifth ends it."""
    scene = Scene(hall)
    scene.do(scene.hand_over)
    for point in (
        "claim.after_commit",
        "edit.after_rename",
        "step.after_commit",
        "step.before_commit",
    ):
        scene.die(scene.work, f"{point}=kill@1")
    scene.do(scene.work, scene.decide, scene.work)
    scene.ended_well(lost=4)


@pytest.mark.parametrize("point", ["remind.before_commit", "remind.after_commit"])
def test_a_reminder_that_is_killed_is_told_once_all_the_same(hall: Cast, point: str):
    scene = Scene(hall)
    scene.do(scene.hand_over, scene.work)
    scene.die(scene.remind, f"{point}=kill")
    done = point == "remind.after_commit"
    assert scene.told.types.count("approval.reminded") == int(done)
    scene.do(scene.remind, scene.remind)
    assert scene.told.types.count("approval.reminded") == 1
    scene.do(scene.decide, scene.work)
    scene.ended_well(lost=0)
