"""A command in namespaces that others have used: what the broker knows of it, and how it ends.

Part of the broker's process: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal

from runtime.sandbox import processes
from runtime.sandbox.enclosed import Enclosed
from runtime.sandbox.supervised import Supervised
from runtime.sandbox.wire import BROKEN, CANCELLED, ENDED

TYPE_CHECKING = False  # see broker.py
if TYPE_CHECKING:
    from typing import Any

    from runtime.sandbox.broker import Broker
    from runtime.sandbox.session import Session


class Shared(Supervised):
    """A command in a session. `fds` as for `Enclosed`; it has no control group and no proxy."""

    shared = True

    def __init__(
        self, broker: Broker, session: Session, request: dict[str, Any], fds: list[int]
    ) -> None:
        stdout, stderr, *kept = fds
        super().__init__(broker, request, kept)
        self.session, self.request, self.told = session, request, False
        self.starter, self.orphans_wrote = session.starter, 0
        self.had_spent: float | None = None
        self.streams = [os.dup(stdout), os.dup(stderr)]  # should it have to begin elsewhere
        try:
            session.begin(self, request, *self.streams)
        except OSError:
            for fd in self.streams:
                os.close(fd)
            raise
        broker.watch(self.control, self.on_control)

    def took_end(self, code: int, cpu: int, peak: int) -> None:
        """How it ended; what was killed at a bound has no status of its own."""
        killed = self.reason != ENDED and code == 128 + signal.SIGKILL
        self.told, self.code, self.cpu, self.peak = True, -1 if killed else code, cpu, peak
        self.deadline = float("inf")

    def done(self) -> None:
        """Nothing of it is left."""
        if not self.told and self.reason == ENDED:
            self.reason, self.text = BROKEN, "the process that had started it was ended"
        self.broker.sessions.used(self.request["profile"])
        self.answer(*self.streams)

    def go_elsewhere(self) -> None:
        """It did not begin: bubblewrap itself tries, and says why not."""
        self.broker.forget(self.control)
        self.broker.runs.remove(self)
        kept = [self.control, self.gate]
        try:
            run = Enclosed(self.broker, self.request, [*self.streams, *kept])
            self.broker.runs.append(run)
            if self.reason != ENDED:
                run.end(self.reason)
        except OSError as error:
            self.broker.runs.append(self)
            self.reason, self.text = BROKEN, f"it was not started: {error.strerror}"
            self.answer()
        finally:
            for fd in self.streams:
                os.close(fd)

    @property
    def running(self) -> bool:
        """Whether the namespaces are there."""
        return not self.told and self.session.running

    def members(self) -> list[int]:
        """Bubblewrap's first process, the command, its orphans, and all below them."""
        found = [self.session.first]
        for pid in processes.children(self.starter):
            found += processes.family(pid)
        return found

    def written(self, pids: list[int]) -> int:
        """With what those wrote that the starter has reaped."""
        return processes.written(pids) + self.orphans_wrote

    def spent(self, pids: list[int]) -> float:
        """The same of the processor, which anybody may read. What was reaped before the first look
        is not missed: it is little."""
        spent = processes.cpu([self.starter])
        if self.had_spent is None:
            self.had_spent = spent
        return processes.cpu(pids) + spent - self.had_spent

    def private(self) -> list[str]:
        """The session's."""
        return self.session.private()

    def tree(self) -> str:
        """The session's."""
        return self.session.tree()

    def terminate(self) -> None:
        """Its group is the starter's, which no signal ends."""
        if self.running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.starter, signal.SIGTERM)

    def kill(self) -> None:
        """With all that is in there."""
        self.session.end(CANCELLED, at_once=True)
        self.session.kill()
