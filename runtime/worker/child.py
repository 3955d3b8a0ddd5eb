"""One process that the supervisor keeps running."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

from runtime.worker import death

FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
STEADY_SECONDS = 60.0
MOST_DEATHS = 5
"""Deaths within `STEADY_SECONDS` after which a child is given up."""


class GivenUp(Exception):
    """A child died too often. The text names it."""


class Child:
    """A command that is started, watched, and started again when it dies.

    It leads its own session and process group, and the kernel kills it with the supervisor.
    """

    def __init__(
        self, name: str, argv: Sequence[str], env: Mapping[str, str], keep: Sequence[int] = ()
    ) -> None:
        self.name, self._argv, self._env, self._keep = name, list(argv), dict(env), list(keep)
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths: list[float] = []
        self._delay = FIRST_DELAY
        self._started = 0.0
        self._due = 0.0

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start it now."""
        self._process = subprocess.Popen(
            self._argv,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=2,
            pass_fds=self._keep,
            start_new_session=True,
            # The supervisor has one thread here, so running Python after the fork is safe.
            preexec_fn=death.with_parent,
        )
        self._started = time.monotonic()

    def check(self) -> str:
        """Look after it once. Returns what happened: nothing, `died` or `started`.

        Raises `GivenUp`.
        """
        now = time.monotonic()
        if self._process is None:
            if now < self._due:
                return ""
            self.start()
            return "started"
        status = self._process.poll()
        if status is None:
            return ""
        self.signal_group(signal.SIGKILL)
        self._process = None
        self._deaths = [at for at in self._deaths if now - at < STEADY_SECONDS] + [now]
        if len(self._deaths) >= MOST_DEATHS:
            raise GivenUp(
                f"{self.name} ended {len(self._deaths)} times within "
                f"{STEADY_SECONDS:.0f} seconds (last with status {status})."
            )
        if now - self._started > STEADY_SECONDS:
            self._delay = FIRST_DELAY
        self._due = now + self._delay
        self._delay = min(2 * self._delay, LONGEST_DELAY)
        return "died"

    def ended(self) -> bool:
        """Whether it has ended, or never ran."""
        return self._process is None or self._process.poll() is not None

    def signal_process(self, number: int) -> None:
        """Signal the process itself, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def signal_group(self, number: int) -> None:
        """Signal the process and everything in its group, also after its own death."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; whether it came."""
        if self._process is None:
            return True
        try:
            self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return False
        return True
