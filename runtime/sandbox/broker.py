"""The process between the server and bubblewrap: one per cage, one thread, standard library only.

    python -I -S -B broker.py FD TAG

FD is one end of a SOCK_SEQPACKET pair. Its order of work:

1. read the set-up (marshal; the server is trusted);
2. as root: enter a user and a mount namespace, wait until the server has written the id maps,
   bind every source under a private tmpfs laid over /tmp;
3. drop for good to the run's account, without capabilities or new privileges, and check that;
4. say `ready`, then serve: each request brings its own descriptors, its answer goes back on one of
   them. End of the socket, or of the server, ends every command.

It exists because a command's life is bound to the *thread* that started it, and because a server
that is killed cannot clean up. Only the first process of a command's namespace is ever killed: its
end is the end of everything in there. Everything is imported before the drop, since afterwards the
interpreter's own directory may be unreadable.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

if __package__:
    from runtime.sandbox import privileges, processes
else:  # started as a file in isolated mode, where only the standard library is found
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import privileges  # type: ignore[import-not-found, no-redef]
    import processes  # type: ignore[import-not-found, no-redef]

    del sys.path[0]

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
FIRST_FREE_FD = 10
WATCH_EVERY = 0.2  # seconds between looks at memory and written bytes
SETUP_PATIENCE = 5.0  # seconds that bubblewrap may take beyond the deadline before it is given up
REPLY = struct.Struct("=iiqq")  # exit status or -1, reason, microseconds of CPU, bytes at peak
ENDED, TIMED_OUT, CANCELLED, OVER_MEMORY, OVER_WRITTEN, BROKEN = range(6)


class Run:
    """One command: handshake, limits, deadline, end, answer."""

    def __init__(self, broker: Broker, request: dict[str, Any], fds: list[int]) -> None:
        self.broker = broker
        stdout, stderr, self.control, self.gate = fds
        self.began = self.looked = time.monotonic()
        self.deadline = self.began + request["wall"]
        self.kill_at = float("inf")
        self.reason, self.text, self.code = ENDED, "", -1
        self.first = self.first_fd = -1  # the first process of the namespace, as it is called here
        self.cpu = self.peak = 0
        self.buffer = b""
        self.status, status = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.status, False)
        made = [status]
        try:
            made.append(pipe_with(broker.seccomp))
            made.append(pipe_with(broker.args[request["profile"]] + request["place"]))
            order = (broker.null, stdout, stderr, status, self.gate, made[1], made[2])
            self.monitor = os.posix_spawn(
                broker.bwrap,
                [broker.tag, *OPTIONS, *request["argv"]],
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
        """The namespace is there and waits at the gate: take hold of it, limit it, let it go."""
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
            for which, value in self.broker.limits:
                resource.prlimit(pid, which, (value, value))
            os.write(self.gate, b"x")
        except ProcessLookupError:
            return
        except OSError as error:  # a limit that cannot be set stops the command
            self.text = f"a limit cannot be set: {error.strerror}"
            self.end(BROKEN, at_once=True)

    def on_control(self) -> None:
        """The end of the caller's side: nobody wants it any more."""
        self.broker.forget(self.control)
        self.end(CANCELLED)

    def on_first(self) -> None:
        """Fires only when every process of the namespace is gone."""
        self.broker.forget(self.first_fd)
        self.settle()

    def on_monitor(self) -> None:
        self.broker.forget(self.monitor_fd)
        while self.on_status():
            pass  # the exit code may still be in the pipe
        self.broker.forget(self.status)
        usage = os.wait4(self.monitor, 0)[2]
        self.cpu += round((usage.ru_utime + usage.ru_stime) * 1e6)
        self.peak = usage.ru_maxrss << 10
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
                usage = os.wait4(self.first, 0)[2]
                self.cpu += round((usage.ru_utime + usage.ru_stime) * 1e6)
                self.peak = usage.ru_maxrss << 10
            except ChildProcessError:
                pass  # the monitor did: its own account holds it
        answer = REPLY.pack(self.code, self.reason, self.cpu, self.peak)
        with contextlib.suppress(OSError):  # the caller may be gone: then there is nobody to tell
            os.write(self.control, answer + self.text.encode()[:1000])
        self.broker.forget(self.control)
        for fd in (self.control, self.gate, self.status, self.monitor_fd, self.first_fd):
            if fd >= 0:
                os.close(fd)
        self.broker.runs.remove(self)

    # -- what is done to it

    def end(self, reason: int, at_once: bool = False) -> None:
        """SIGTERM to the command's own group, then, after the grace, the kill."""
        if self.reason == ENDED:
            self.reason = reason
        if self.kill_at < float("inf") and not at_once:
            return
        self.deadline = float("inf")
        self.kill_at = time.monotonic() + (0 if at_once else self.broker.grace)
        if self.first_fd in self.broker.held and not at_once:
            # Not its own group yet, or gone: the kill follows.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.first, signal.SIGTERM)

    def kill(self) -> None:
        """Before the first process is known nothing is done: `start` then ends it at the gate."""
        if self.first_fd in self.broker.held:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.first_fd, signal.SIGKILL)

    def tick(self, now: float) -> None:
        if now >= self.deadline:
            self.end(TIMED_OUT)
        if now >= self.kill_at:
            self.kill()
            stuck = self.first_fd < 0 and now >= self.kill_at + SETUP_PATIENCE
            if stuck and self.monitor_fd in self.broker.held:  # what is left waits at a shut gate
                signal.pidfd_send_signal(self.monitor_fd, signal.SIGKILL)

    def look(self, now: float) -> None:
        """Total memory and bytes written, of all processes together, every now and then."""
        if self.first_fd not in self.broker.held or now < self.looked + WATCH_EVERY:
            return
        self.looked = now
        pids = processes.family(self.first)
        if processes.written(pids) > self.broker.written_bytes:
            self.end(OVER_WRITTEN, at_once=True)
        most = self.broker.memory_bytes
        if processes.resident(pids) > most and processes.shares(pids) > most:  # the slow one last
            self.end(OVER_MEMORY, at_once=True)


def pipe_with(data: bytes) -> int:
    """A pipe that holds `data` (under 64 KiB: the server sees to that), one for each run, because
    bubblewrap reads on from where a descriptor stands."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    os.write(writer, data)
    os.close(writer)
    return reader


class Broker:
    """The loop."""

    def __init__(self, sock: socket.socket, server_fd: int, setup: dict[str, Any]) -> None:
        self.sock, self.server_fd, self.closing = sock, server_fd, False
        self.args: dict[str, bytes] = setup["args"]
        self.bwrap, self.tag, self.seccomp = setup["bwrap"], setup["tag"], setup["seccomp"]
        self.memory_bytes, self.written_bytes = setup["memory_bytes"], setup["written_bytes"]
        self.grace = setup["grace"]
        self.limits: list[tuple[int, int]] = setup["limits"]
        self.null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        self.runs: list[Run] = []
        self.held: dict[int, Callable[[], object]] = {}
        self.poll = select.epoll()
        self.watch(sock.fileno(), self.on_request)
        self.watch(server_fd, self.stop)

    def watch(self, fd: int, call: Callable[[], object]) -> None:
        self.poll.register(fd, select.EPOLLIN)
        self.held[fd] = call

    def forget(self, fd: int) -> None:
        if self.held.pop(fd, None):
            self.poll.unregister(fd)

    def stop(self) -> None:
        """The server is done or gone: end everything, leave when it has ended."""
        self.closing = True
        self.forget(self.sock.fileno())
        self.forget(self.server_fd)
        for run in self.runs:
            run.end(CANCELLED, at_once=True)

    def on_request(self) -> None:
        # Not recv_fds: it drops the flag, and each command would inherit the others' descriptors.
        room = socket.CMSG_LEN(4 * struct.calcsize("i"))
        data, rights, _, _ = self.sock.recvmsg(1 << 19, room, socket.MSG_CMSG_CLOEXEC)
        fds = [fd for _, _, raw in rights for (fd,) in struct.iter_unpack("i", raw)]
        if not data:
            self.stop()
            return
        try:
            self.runs.append(Run(self, marshal.loads(data), fds))
        except (OSError, ValueError) as error:
            text = f"bubblewrap was not started: {error}"
            os.write(fds[2], REPLY.pack(-1, BROKEN, 0, 0) + text.encode()[:1000])
            fds += fds[2:]
        finally:
            for fd in fds[:2] + fds[4:]:
                os.close(fd)

    def serve(self) -> None:
        while not (self.closing and not self.runs):
            now = time.monotonic()
            wakes = [min(run.deadline, max(run.kill_at, now + 0.01)) for run in self.runs]
            wait = max(0.0, min(WATCH_EVERY, *[wake - now for wake in wakes])) if wakes else None
            for fd, call in [(fd, self.held.get(fd)) for fd, _ in self.poll.poll(wait)]:
                if call is not None and self.held.get(fd) == call:  # no earlier one closed it
                    call()
            now = time.monotonic()
            for run in list(self.runs):
                run.tick(now)
                if run in self.runs:
                    run.look(now)


def main() -> None:
    os.umask(0o022)  # the stage must be open to the run's account, whatever the server's mask is
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.set_inheritable(False)  # it came by inheritance; no command may have it
    setup = marshal.loads(sock.recv(1 << 19))
    try:
        server_fd = os.pidfd_open(setup["server"])
        if os.getppid() != setup["server"]:
            raise ProcessLookupError("the server is gone")
        if setup["uid"] is not None:
            privileges.enter_namespaces()
            sock.send(b"map me")
            if sock.recv(16) != b"mapped":
                raise PermissionError("the id maps were not written")
            privileges.stage(setup["sources"])
        privileges.drop(setup["uid"], setup["gid"])
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        while os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC) < FIRST_FREE_FD - 1:
            pass  # from here on no descriptor is in the way of those that bubblewrap is given
        accounts = os.path.exists("/proc/self/io")  # ours is unreadable now, the commands' are not
    except OSError as error:
        sock.send(f"refused: {error}".encode()[:2000])
        raise SystemExit(1) from error
    sock.send(b"ready %d %d" % (os.getuid(), accounts))
    Broker(sock, server_fd, setup).serve()


if __name__ == "__main__":
    main()
