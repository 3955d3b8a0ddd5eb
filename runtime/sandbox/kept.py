"""A command that is confined without namespaces: by Landlock and a filter, or not at all.

Part of the broker's process: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time

from runtime.sandbox import keeper, landlock, privileges, processes
from runtime.sandbox.supervised import Supervised
from runtime.sandbox.wire import BROKEN

TYPE_CHECKING = False  # see broker.py
if TYPE_CHECKING:
    from typing import Any

    from runtime.sandbox.broker import Broker

KEEPER_PATIENCE = 5.0  # seconds that a keeper may take to end its tree before the broker does


class Rules:
    """The walls of a cage, made once, before the way down: later its paths may be out of reach."""

    def __init__(self, direct: dict[str, Any], filter_text: bytes) -> None:
        self.root: bytes = direct["root"]
        self.private: bytes = direct["private"]
        self._sets: dict[str, int] = {}
        if direct["landlock"]:
            for profile, rows in direct["rules"].items():
                self._sets[profile] = landlock.ruleset(rows)
        self.filter = privileges.Filter(filter_text) if filter_text else None

    def of(self, profile: str) -> int:
        """The descriptor of a profile's rules, -1 where there are none at all."""
        return self._sets[profile] if self._sets else -1

    def command(self, broker: Broker, request: dict[str, Any], fds: list[int]) -> Kept:
        """Start one inside these walls."""
        return Kept(broker, self, request, fds)

    def clear(self) -> None:
        """Remove the private directory, unreadable directories and endless paths included."""
        for words in ((b"chmod", b"-R", b"u+rwX"), (b"rm", b"-rf", b"--one-file-system")):
            with contextlib.suppress(OSError):
                os.waitpid(
                    os.posix_spawn(b"/bin/" + words[0], [*words, b"--", self.private], {}), 0
                )


class Kept(Supervised):
    """`fds` are stdout and stderr, then what is kept (`Supervised`); the gate is not needed."""

    def __init__(
        self, broker: Broker, rules: Rules, request: dict[str, Any], fds: list[int]
    ) -> None:
        stdout, stderr, *kept = fds
        super().__init__(broker, request, kept)
        self.command, self.root = -1, rules.root
        self.report = b""
        self.leash_end, self.leash = os.pipe2(os.O_CLOEXEC)
        self.status, status = os.pipe2(os.O_CLOEXEC)
        order = keeper.Order(
            argv=request["argv"], env=request["env"], cwd=request["cwd"], root=rules.root,
            limits=_with_others(broker.limits), stdout=stdout, stderr=stderr,
            status=status, leash=self.leash_end, rules=rules.of(request["profile"]),
            filter=rules.filter, join=self.join,
        )  # fmt: skip
        try:
            self.pid = os.fork()
        except OSError:
            for fd in (self.status, self.leash_end, self.leash):
                os.close(fd)
            raise
        finally:
            if os.getpid() == broker.pid:
                os.close(status)
        if self.pid == 0:
            keeper.keep(order)
        os.close(self.leash_end)
        self.keeper_fd = os.pidfd_open(self.pid)
        os.set_blocking(self.status, False)
        broker.watch(self.keeper_fd, self.on_keeper)
        broker.watch(self.control, self.on_control)

    def on_keeper(self) -> None:
        """Its end is the end of the tree, unless it was killed: then the tree is ours."""
        self.broker.forget(self.keeper_fd)
        with contextlib.suppress(ChildProcessError):  # reaped while another one's tree was ended
            os.waitpid(self.pid, 0)
        self.read()
        if len(self.report) < keeper.ENDED.size:
            spared = frozenset(
                run.pid for run in self.broker.runs if isinstance(run, Kept) and run is not self
            )
            keeper.end_all(os.getpid(), spared)
            self.reason, self.text = BROKEN, "the process that watched it was killed"
        else:
            self.code, self.cpu, self.peak = keeper.ENDED.unpack_from(self.report)
            self.text = self.report[keeper.ENDED.size :].decode("utf-8", "replace")
        self.kill()
        self.answer(self.status, self.keeper_fd)

    def read(self) -> None:
        """What the keeper has said so far: first the command's number, last how it ended."""
        while True:
            try:
                data = os.read(self.status, 4096)
            except BlockingIOError:
                return
            self.report += data
            if self.command < 0 and len(self.report) >= keeper.STARTED.size:
                self.command = keeper.STARTED.unpack_from(self.report)[0]
                self.report = self.report[keeper.STARTED.size :]
            if not data:
                return

    @property
    def running(self) -> bool:
        """Whether the keeper is there."""
        return self.keeper_fd in self.broker.held

    def members(self) -> list[int]:
        """Everything below the keeper."""
        return processes.family(self.pid)[1:]

    def tree(self) -> str:
        """At its own path."""
        return os.fsdecode(self.root)

    def terminate(self) -> None:
        """The command leads a session and a group of its own."""
        self.read()
        if self.command > 0 and self.running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.command, signal.SIGTERM)

    def kill(self) -> None:
        """The end of its leash tells the keeper; one that does not obey goes, and the rest with it."""
        if self.leash >= 0:
            self.end_group()
            os.close(self.leash)
            self.leash = -1
        elif self.running and time.monotonic() >= self.kill_at + KEEPER_PATIENCE:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.keeper_fd, signal.SIGKILL)


def _with_others(limits: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The kernel counts the processes of an account, not of a command: others come on top."""
    here = processes.of_account(os.getuid())
    found = []
    for which, value in limits:
        if which == resource.RLIMIT_NPROC:
            hard = resource.getrlimit(which)[1]
            value += here
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        found.append((which, value))
    return found
