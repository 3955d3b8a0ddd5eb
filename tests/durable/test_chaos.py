"""Workers are killed and frozen by chance while runs go on; in the end all is whole.

`--chaos-seconds` says for how long, `--chaos-seed` repeats one that was printed.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import statistics
import threading
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from runtime import approvals
from runtime.journal.read import every
from runtime.models import Approval, Run, Task
from runtime.worker import inline
from tests.durable import faulty
from tests.durable.scene import STEPS, Scene
from tests.kit import FINISH, VERIFY, Cast

WORKERS = 3
# Each verification that is interrupted costs a `finish`: the script must not end before chance does.
PATIENT = [*STEPS, *([VERIFY, FINISH] * 30)]
KILLED = [
    "claim.after_select", "claim.before_commit", "claim.after_commit", "step.before_effect",
    "step.after_effect", "step.before_commit", "step.after_commit", "edit.before_rename",
    "edit.after_rename", "blob.before_fsync", "blob.after_rename", "suspend.before_commit",
    "suspend.after_commit", "consume.after_commit", "complete.before_commit",
    "complete.after_commit", "deliver.after_commit_object", "reap.before_commit",
    "reap.after_commit",
]  # fmt: skip
FROZEN = ["claim.after_commit", "step.before_effect", "step.after_effect", "step.after_commit",
          "suspend.after_commit", "renew.before"]  # fmt: skip


class Chaos:
    """Some workers, whose processes come and go."""

    def __init__(self, cast: Cast, chance: random.Random) -> None:
        self.cast, self.chance = cast, chance
        self.scenes: list[Scene] = []
        self.workers: set[int] = set()
        self.frozen: dict[int, float] = {}
        """Process id, and when it goes on."""
        # In a thread of its own: one that froze inside a write holds up this process, too.
        self.thaws = threading.Thread(target=self._thaw, daemon=True)
        self.over = threading.Event()
        self.thaws.start()
        self.counts: Counter[str] = Counter()
        self.deaths: list[tuple[str, float]] = []
        """The run of a worker that died with a task in its hands, and when."""

    def _plan(self) -> str:
        what = self.chance.random()
        if what < 0.2:
            return ""
        action, points = ("kill", KILLED) if what < 0.5 else ("stop", FROZEN)
        return f"{self.chance.choice(points)}={action}@{self.chance.randint(1, 4)}"

    def _start(self) -> None:
        self.workers.add(faulty.start(lambda: inline.work(), self._plan()))

    def _thaw(self) -> None:
        """Notice who froze, let go on who has slept long enough."""
        while not self.over.wait(0.1):
            for pid in list(self.workers):
                if not _is_frozen(pid):
                    self.frozen.pop(pid, None)
                elif pid not in self.frozen:
                    self.counts["frozen"] += 1
                    self.frozen[pid] = time.monotonic() + self.chance.uniform(2, 6)
                elif time.monotonic() > self.frozen[pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)

    def _look(self) -> None:
        """Notice who died."""
        for pid in list(self.workers):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                assert os.WIFSIGNALED(status), "a worker ended by itself"
                self.counts["killed"] += 1
                held = Task.objects.filter(state="running", lease_owner__contains=f"/{pid}/")
                now = time.time()
                self.deaths += [(run, now) for run in held.values_list("run", flat=True)]
                self.workers.discard(pid)

    def _answer(self) -> None:
        for pk in Approval.objects.filter(state="pending").values_list("pk", flat=True)[:5]:
            approvals.decide(pk, by=self.cast.bob, verdict="approve")

    def go_on(self, seconds: float) -> None:
        """Submit, kill, freeze, answer."""
        end = time.monotonic() + seconds
        next_kill = time.monotonic() + 1
        while time.monotonic() < end:
            self._look()
            while len(self.workers) < WORKERS:
                self._start()
            open_ = Run.objects.filter(state__in=["running", "waiting"]).count()
            if open_ < 2 * WORKERS:
                self.scenes.append(Scene(self.cast, PATIENT, attempts=100))
                self.scenes[-1].hand_over()
            self._answer()
            if time.monotonic() > next_kill:
                awake = [pid for pid in self.workers if pid not in self.frozen]
                if awake:
                    os.kill(self.chance.choice(awake), signal.SIGKILL)
                next_kill = time.monotonic() + self.chance.uniform(1.5, 4)
            time.sleep(0.05)

    def end(self) -> None:
        """Nobody else is killed; the frozen ones go on; everything is worked off."""
        deadline = time.monotonic() + 300
        while Run.objects.exclude(pk="system").filter(ended_at=None).exists():
            assert time.monotonic() < deadline, "runs are stranded"
            self._answer()
            inline.work(until_idle=True)
        self.leave()

    def leave(self) -> None:
        """End every worker."""
        self.over.set()
        self.thaws.join()
        for pid in self.workers:
            faulty.put_down(pid)
        self.workers.clear()


def _is_frozen(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        state = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
        return state.rpartition(")")[2].split()[0] == "T"
    return False


def recoveries(deaths: list[tuple[str, float]]) -> list[float]:
    """Seconds from the death of a worker that held a task to the next claim of it."""
    found = []
    for run, died in deaths:
        claims = (datetime.fromisoformat(e.at) for e in every(run) if e.type == "task.claimed")
        after = [at.timestamp() - died for at in claims if at.timestamp() > died]
        found += after[:1]
    return sorted(found)


def report(chaos: Chaos) -> dict[str, object]:
    """The figures."""
    times = recoveries(chaos.deaths)
    effects = [Counter(scene.ledger) for scene in chaos.scenes]
    return {
        **chaos.counts,
        "runs": len(chaos.scenes),
        "lost": sum(scene.told.state != "succeeded" for scene in chaos.scenes),
        "stale_writes": sum("stale" in text for scene in chaos.scenes for text in scene.wrong()),
        "repeated": sum(n - 1 for effect in effects for n in effect.values() if n > 1),
        "unknown": sum(scene.unknown() for scene in chaos.scenes),
        "lost_leases": sum(scene.task.crashes for scene in chaos.scenes),
        "recovery_p50_s": round(statistics.median(times), 3) if times else None,
        "recovery_p95_s": round(times[int(len(times) * 0.95)], 3) if times else None,
    }


@pytest.mark.timeout(900)
def test_X15_F44_whoever_dies_or_freezes_by_chance_nothing_is_lost(
    hall: Cast, pytestconfig: pytest.Config
):
    seed = pytestconfig.getoption("--chaos-seed", 0) or random.SystemRandom().randrange(1 << 32)
    seconds = pytestconfig.getoption("--chaos-seconds", 20.0)
    chaos = Chaos(hall, random.Random(seed))
    try:
        chaos.go_on(seconds)
        chaos.end()
    finally:
        chaos.leave()
        print(f"chaos: --chaos-seed {seed} --chaos-seconds {seconds}")
    figures = report(chaos)
    print(f"chaos: {figures}")
    wrong = {scene.run: texts for scene in chaos.scenes if (texts := scene.wrong())}
    assert wrong == {}
    ends = [(told.state, told.reason, told.types[-12:]) for told in (s.told for s in chaos.scenes)]
    assert [end for end in ends if end[0] != "succeeded"] == []
    assert figures["lost"] == figures["stale_writes"] == figures["repeated"] == 0
    assert chaos.counts["killed"] > 0
