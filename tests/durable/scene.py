"""A small run that has everything: an edit, commands, a question, a verification, a delivery.

Each of its stages is done by a process of its own, which may be made to die or to freeze.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import OperationalError
from django.db.models.functions import Now

from runtime import approvals, runs, tasks
from runtime.approvals import expiring, reminding
from runtime.journal import book
from runtime.journal.append import new_id, now
from runtime.models import Approval, Run, Task
from tests.agent.scenes import shell, tree, write
from tests.clock import begun
from tests.durable import faulty
from tests.durable.invariants import attempts, blobs, violations
from tests.kit import FINISH, VERIFY, Cast, Told

LEDGER = "ledger.log"
FREE, ASKED = "free", "asked"
STEPS = [
    write("notes.txt", "changed\n"),
    shell(f"echo {FREE} >> {LEDGER}"),
    shell(f"eval echo {ASKED} >> {LEDGER}"),
    VERIFY,
    FINISH,
    # Where the command's outcome is unknown, its debt stays and `finish` was refused.
    VERIFY,
    FINISH,
]
"""The second command needs an answer, since nobody can say what `eval` evaluates."""
SLOW = {**write("notes.txt", "changed\n"), "delay_ms": 8000}
"""A model that thinks until the lease is renewed."""


class Scene:
    """One run of the script, from outside."""

    def __init__(
        self, cast: Cast, steps: list[dict[str, Any]] | None = None, attempts: int = 5
    ) -> None:
        self.cast, self.key, self._steps = cast, new_id(), steps or STEPS
        self._attempts = attempts
        self.slow = SLOW in self._steps

    @property
    def told(self) -> Told:
        """What the record says."""
        return Told(Run.objects.get(key=self.key))

    @property
    def run(self) -> str:
        """The run's id."""
        return str(Run.objects.values_list("pk", flat=True).get(key=self.key))

    @property
    def task(self) -> Task:
        """Its only task as it stands now."""
        return Task.objects.get(run__key=self.key)

    @property
    def ledger(self) -> list[str]:
        """The effects of its commands, which no crash undoes."""
        path: Path = tree(self.told) / LEDGER
        return path.read_text().split() if path.exists() else []

    def hand_over(self) -> None:
        """Submit."""
        # The bytes are this scene's own, so that they are stored anew.
        steps = [*self._steps, {**FINISH, "summary": self.key}]
        script = "".join(json.dumps(step) + "\n" for step in steps).encode()
        wish = runs.Submission(
            workspace="work", objective="Do it.", by=self.cast.alice, provider="scripted:test",
            script=script, key=self.key, max_attempts=self._attempts,
        )  # fmt: skip
        runs.submit(wish)

    def work(self) -> None:
        """Be its worker until nothing can be done."""
        faulty.work(self.run)()

    def decide(self) -> None:
        """Approve what was asked last."""
        asked = Approval.objects.filter(run__key=self.key).order_by("id").last()
        assert asked is not None
        approvals.decide(asked.pk, by=self.cast.bob, verdict="approve")

    def cancel(self) -> None:
        """Cancel."""
        runs.cancel(self.run, self.cast.alice)

    def reap(self) -> None:
        """One pass over the leases."""
        tasks.reap()

    def expire(self) -> None:
        """One pass over the questions, a day and an hour later. For a process of its own."""
        later = now() + timedelta(hours=25)
        for room in (book, expiring):
            room.now = lambda: later
        approvals.expire_due()
        # The clock is set right again; what is available from then on is available now.
        Task.objects.filter(run__key=self.key).update(available_at=Now())

    def remind(self) -> None:
        """One pass over the questions, past half of their time. For a process of its own."""
        later = now() + timedelta(hours=13)
        for room in (book, reminding):
            room.now = lambda: later
        approvals.remind_due()

    def do(self, *stages: Callable[[], None]) -> None:
        """Each stage in a process that nothing happens to."""
        for stage in stages:
            assert faulty.end_of(faulty.start(stage)) == 0, stage.__name__

    def die(self, stage: Callable[[], None], plan: str) -> None:
        """A stage whose process is killed by the plan."""
        code = faulty.end_of(faulty.start(stage, plan))
        assert code == -signal.SIGKILL, f"{plan} was not reached: {code}"

    def freeze(self, stage: Callable[[], None], plan: str) -> int:
        """A stage whose process stops itself; its process id."""
        pid = faulty.start(stage, plan)
        faulty.frozen(pid)
        return pid

    def still_thinking(self) -> None:
        """Raises `Late` where a slow model has answered: a machine may stand still for longer."""
        begun("message.completed" not in self.told.types)

    def lapse(self, frozen: int | None = None) -> None:
        """Time passes: the lease of whoever holds the task is long over.

        A process frozen inside a write holds SQLite's only lock: it goes on for a moment, then.
        """
        for _ in range(10):
            try:
                return self._lapse()
            except OperationalError:
                if frozen is None:
                    raise
                os.kill(frozen, signal.SIGCONT)
                time.sleep(0.02)
                os.kill(frozen, signal.SIGSTOP)
        raise AssertionError("the database stayed locked")

    def _lapse(self) -> None:
        long_ago = now() - timedelta(seconds=1000)
        held = Task.objects.filter(run__key=self.key, state__in=["running", "cancelling"])
        held.update(lease_expires_at=long_ago)

    def wrong(self) -> list[str]:
        """Everything that is not as it must be."""
        return [*violations(self.run, self.ledger), *attempts(self.run), *blobs(self.run)]

    def unknown(self) -> int:
        """Commands whose outcome nobody knows, and whom the record names."""
        return self.told.types.count("action.outcome_unknown")

    def ended_well(self, *, lost: int, unknown: int = 0) -> None:
        """The run succeeded once, after so many lost leases and with so many unknown outcomes."""
        told, task = self.told, self.task
        assert self.wrong() == []
        assert told.state == "succeeded", (told.state, told.reason)
        assert told.types.count("run.succeeded") == 1
        assert told.types.count("delivery.completed") == 1
        assert told.types.count("task.lease_expired") == lost
        assert (task.attempt, task.crashes) == (1 + lost, lost)
        assert self.unknown() == unknown, told.types
        if not unknown:
            assert sorted(self.ledger) == [ASKED, FREE]
        assert (tree(told) / "notes.txt").read_text() == "changed\n"
