"""A command that bubblewrap confines: handshake, hold on its first process, end.

Only the first process of a command's namespace is ever killed: its end is the end of everything in
there. Part of the broker's process: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time

from runtime.sandbox import netns, processes
from runtime.sandbox.supervised import Supervised
from runtime.sandbox.wire import BROKEN, ENDED

TYPE_CHECKING = False  # see broker.py
if TYPE_CHECKING:
    from typing import Any

    from runtime.sandbox.broker import Broker

# The numbers under which bubblewrap finds its descriptors; everything else stands above them.
OPTIONS = (
    b"--args",
    b"6",
    b"--json-status-fd",
    b"3",
    b"--block-fd",
    b"4",
    b"--seccomp",
    b"5",
    b"--",
)
SETUP_PATIENCE = 5.0  # seconds that bubblewrap may take beyond the deadline before it is given up


class Enclosed(Supervised):
    """`fds` are stdout and stderr, then what is kept (`Supervised`)."""

    def __init__(self, broker: Broker, request: dict[str, Any], fds: list[int]) -> None:
        stdout, stderr, *kept = fds
        super().__init__(broker, request, kept)
        self.profile, self.listens = request["profile"], request["listens"]
        self.first = self.first_fd = -1  # the first process of the namespace, as it is called here
        self.apart = False  # whether it has a root of its own
        self.buffer = b""
        self.status, status = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.status, False)
        made = [status]
        setup = broker.setup
        try:
            place = b"--chdir\0" + request["cwd"] + b"\0"
            made.append(pipe_with(setup["seccomp"]))
            made.append(pipe_with(setup["args"][request["profile"]] + place))
            # stdin of its own: who shares an opened file shares its flags, owner and locks
            made.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
            order = (made[3], stdout, stderr, status, self.gate, made[1], made[2])
            self.monitor = os.posix_spawn(
                setup["bwrap"],
                [setup["tag"], *OPTIONS, *request["argv"]],
                request["env"],
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, at) for at, fd in enumerate(order)],
                setsigmask=[],
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores both
            )
        except BaseException:
            os.close(self.status)
            raise
        finally:
            for fd in made:
                os.close(fd)
        self.monitor_fd = os.pidfd_open(self.monitor)
        broker.watch(self.status, self.on_status)
        broker.watch(self.monitor_fd, self.on_monitor)
        broker.watch(self.control, self.on_control)

    # -- what happens to it

    def on_status(self) -> bool:
        """bubblewrap's report comes in pieces; a line may come in halves."""
        try:
            data = os.read(self.status, 4096)
        except BlockingIOError:
            return False
        if not data:
            self.broker.forget(self.status)
            return False
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            code = processes.number_after(line, b'"exit-code"')  # only if the program was executed
            self.code = self.code if code is None else code
            pid = processes.number_after(line, b'"child-pid"')
            if pid is not None and self.first < 0:
                self.start(pid)
        return True

    def start(self, pid: int) -> None:
        """The namespace is there and waits at the gate, or will soon: take hold of it."""
        try:
            self.first_fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return  # set-up failed at once; the monitor's end says so
        self.first = pid
        self.broker.watch(self.first_fd, self.on_first)
        if self.reason != ENDED:
            self.kill()
            return
        try:
            self.admit()
        except ProcessLookupError:
            return
        except OSError as error:  # a bound or a way that cannot be made stops the command
            self.text = f"it cannot be set up: {error.strerror}"
            self.end(BROKEN, at_once=True)

    def admit(self) -> None:
        """Limit it and let it go. Raises OSError where that cannot be."""
        for which, value in self.broker.limits:
            resource.prlimit(self.first, which, (value, value))
        if self.join >= 0:
            os.write(self.join, b"%d" % self.first)
        if self.listens:
            netns.listen(self.first, self.control)
        os.write(self.gate, b"x")

    def on_first(self) -> None:
        """Fires only when every process of the namespace is gone."""
        self.broker.forget(self.first_fd)
        self.settle()

    def on_monitor(self) -> None:
        """The command's own end: the exit code may still be in the pipe."""
        self.broker.forget(self.monitor_fd)
        while self.on_status():
            pass
        self.broker.forget(self.status)
        self.account(os.wait4(self.monitor, 0)[2])
        self.kill()  # background children never outlive the command
        self.settle()

    def settle(self) -> None:
        """Answer once the monitor and the namespace are both gone."""
        held = self.broker.held
        if self.monitor_fd in held or (self.first_fd >= 0 and self.first_fd in held):
            return
        if self.first >= 0:
            try:  # the monitor seldom reaps it: then it is ours, as subreaper, with all its account
                os.waitid(os.P_PIDFD, self.first_fd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                self.account(os.wait4(self.first, 0)[2])
            except ChildProcessError:
                pass  # the monitor did: its own account holds it
        self.answer(self.status, self.monitor_fd, self.first_fd)

    def answer(self, *fds: int) -> None:
        """As ever; and namespaces may be wanted for the next ones."""
        super().answer(*fds)
        self.broker.sessions.used(self.profile)

    def account(self, usage: resource.struct_rusage) -> None:
        """Take over what the kernel counted."""
        self.cpu += round((usage.ru_utime + usage.ru_stime) * 1e6)
        self.peak = usage.ru_maxrss << 10

    # -- what is done to it

    @property
    def running(self) -> bool:
        """Whether the namespace is there."""
        return self.first_fd in self.broker.held

    def look(self, now: float) -> None:
        """As ever, once there is something of its own: before that, its places are the machine's."""
        self.apart = self.apart or (self.running and not self._at_the_machines_root())
        if self.apart:
            super().look(now)

    def _at_the_machines_root(self) -> bool:
        try:
            return os.path.samestat(os.stat(f"/proc/{self.first}/root/"), os.stat("/"))
        except OSError:
            return False  # gone, or out of our reach: then it is looked at

    def members(self) -> list[int]:
        """Everything in the namespace."""
        return processes.family(self.first)

    def private(self) -> list[str]:
        """Seen through the root of the first process."""
        return [f"/proc/{self.first}/root{place}" for place in self.broker.setup["private"]]

    def tree(self) -> str:
        """The same way."""
        return f"/proc/{self.first}/root{self.broker.setup['root']}"

    def terminate(self) -> None:
        """With a session of its own, the first process's number is that of its group."""
        if self.running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.first, signal.SIGTERM)

    def kill(self) -> None:
        """Before the first process is known nothing is done: `start` then ends it at the gate."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.first_fd, signal.SIGKILL)
            self.end_group()
            return
        stuck = self.first_fd < 0 and time.monotonic() >= self.kill_at + SETUP_PATIENCE
        if stuck and self.monitor_fd in self.broker.held:  # what is left waits at a shut gate
            signal.pidfd_send_signal(self.monitor_fd, signal.SIGKILL)


def pipe_with(data: bytes) -> int:
    """A pipe that holds `data` (under 64 KiB: the server sees to that), one for each run, because
    bubblewrap reads on from where a descriptor stands."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    os.write(writer, data)
    os.close(writer)
    return reader
