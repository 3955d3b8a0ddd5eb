"""The process between the server and its commands: one per cage, one thread, standard library only.

    python -I -S -B broker.py FD TAG

FD is one end of a SOCK_SEQPACKET pair. Its order of work:

1. read the set-up (marshal; the server is trusted);
2. as root: enter a user and a mount namespace, wait until the server has written the id maps, and
   make a way to the sources for an account that could not pass the directories above them;
3. drop for good to the run's account, without capabilities or new privileges, and check that;
4. say `ready`, then serve: each request brings its own descriptors, its answer goes back on one of
   them. End of the socket, or of the server, ends every command.

It exists because a command's life is bound to the *thread* that started it, because a server that
is killed cannot clean up, and because it is small enough to be forked for each command (Landlock).
Everything is imported before the drop, since afterwards the interpreter's own directory may be
unreadable.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import resource
import select
import socket
import struct
import sys
import time
import types

if not __package__:
    # Started as a file in isolated mode: the packages are made here, without running what they
    # would load for the server.
    _here = os.path.dirname(os.path.abspath(__file__))
    for _name, _place in (("runtime", os.path.dirname(_here)), ("runtime.sandbox", _here)):
        _package = types.ModuleType(_name)
        _package.__path__ = [_place]
        sys.modules[_name] = _package

from runtime.sandbox import guardian, privileges
from runtime.sandbox.enclosed import Enclosed
from runtime.sandbox.session import Sessions
from runtime.sandbox.supervised import WATCH_EVERY, Supervised
from runtime.sandbox.wire import BROKEN, CANCELLED, REPLY, REQUEST_BYTES

TYPE_CHECKING = False  # `typing` and what it brings would be a tenth of the whole start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from runtime.sandbox.kept import Rules

FIRST_FREE_FD = 10


class Broker:
    """The loop."""

    def __init__(
        self, sock: socket.socket, server_fd: int, setup: dict[str, Any], rules: Rules | None
    ) -> None:
        self.sock, self.server_fd, self.closing = sock, server_fd, False
        self.setup, self.rules, self.pid = setup, rules, os.getpid()
        self.memory_bytes, self.written_bytes = setup["memory_bytes"], setup["written_bytes"]
        self.tmpfs_files, self.grace = setup["tmpfs_files"], setup["grace"]
        self.cpu_seconds, self.processes = setup["cpu_seconds"], setup["processes"]
        self.open_files = setup["open_files"]
        self.limits: list[tuple[int, int]] = setup["limits"]
        self.room = bytearray(REQUEST_BYTES)  # made once: so much memory anew takes its time
        self.null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        self.runs: list[Supervised] = []
        self.sessions = Sessions(self)
        self.held: dict[int, Callable[[], object]] = {}
        self.poll = select.epoll()
        self.watch(sock.fileno(), self.on_request)
        self.watch(server_fd, self.stop)

    def watch(self, fd: int, call: Callable[[], object]) -> None:
        """Call when there is something to read."""
        self.poll.register(fd, select.EPOLLIN)
        self.held[fd] = call

    def forget(self, fd: int) -> None:
        """Undo `watch`; nothing if that was done already."""
        if self.held.pop(fd, None):
            self.poll.unregister(fd)

    def stop(self) -> None:
        """The server is done or gone: end everything, leave when it has ended."""
        self.closing = True
        self.forget(self.sock.fileno())
        self.forget(self.server_fd)
        for run in self.runs:
            run.end(CANCELLED, at_once=True)
        self.sessions.end()

    def on_request(self) -> None:
        """One command. Its first two descriptors are ours to close, all of them if it is broken."""
        # Not recv_fds: it drops the flag, and each command would inherit the others' descriptors.
        room = socket.CMSG_LEN(6 * struct.calcsize("i"))
        size, rights, _, _ = self.sock.recvmsg_into([self.room], room, socket.MSG_CMSG_CLOEXEC)
        fds = [fd for _, _, raw in rights for (fd,) in struct.iter_unpack("i", raw)]
        if not size:
            self.stop()
            return
        try:
            self.runs.append(self.make(marshal.loads(memoryview(self.room)[:size]), fds))
            fds = fds[:2]
        except (OSError, ValueError) as error:
            text = f"it was not started: {error}"
            with contextlib.suppress(OSError):  # the caller may be gone; others have their commands
                os.write(fds[2], REPLY.pack(-1, BROKEN, 0, 0, False) + text.encode()[:1000])
        finally:
            for fd in fds:
                os.close(fd)

    def make(self, request: dict[str, Any], fds: list[int]) -> Supervised:
        """A command under this cage's backend."""
        if self.rules is None:
            return self.sessions.take(request, fds) or Enclosed(self, request, fds)
        return self.rules.command(self, request, fds)

    def serve(self) -> None:
        """Until the server is gone and every command has ended."""
        while not (self.closing and not self.runs and not self.sessions.kept):
            now, busy = time.monotonic(), [*self.runs, *self.sessions.unsettled()]
            wakes = [min(run.deadline, max(run.kill_at, now + 0.01)) for run in busy]
            wait = max(0.0, min(WATCH_EVERY, *[wake - now for wake in wakes])) if wakes else None
            for fd, call in [(fd, self.held.get(fd)) for fd, _ in self.poll.poll(wait)]:
                if call is not None and self.held.get(fd) == call:  # no earlier one closed it
                    call()
            now = time.monotonic()
            for run in [*self.runs, *self.sessions.unsettled()]:
                run.tick(now)
                if run in self.runs:
                    run.look(now)
            if self.sessions.wanted and not self.runs and not self.closing:
                self.sessions.prepare()


def enter(sock: socket.socket) -> None:
    """Into namespaces of our own, where the server maps every account to itself."""
    privileges.enter_namespaces()
    sock.send(b"map me")
    if sock.recv(16) != b"mapped":
        raise PermissionError("the id maps were not written")


def reach(
    sock: socket.socket, sources: list[tuple[bytes, bytes, bool]], uid: int, gid: int
) -> None:
    """Make a way to the sources. Where no namespace is to be had, those that commands only read
    may stay out of reach (a tool in root's home), the others may not."""
    try:
        enter(sock)
    except OSError as error:
        needed = [source for source in sources if source[2]]
        for folder in privileges.out_of_reach(needed, uid, gid):
            raise PermissionError(
                f"account {uid} cannot pass {os.fsdecode(folder)}, and no way around it can be"
                f" made ({error.strerror})"
            ) from error
        return
    privileges.open_ways(sources, uid, gid)


def prepare(sock: socket.socket, setup: dict[str, Any]) -> Rules | None:
    """Down to the run's account; the rules of a backend that mounts nothing, None for others."""
    uid, gid, direct = setup["uid"], setup["gid"], setup["direct"]
    if direct:
        from runtime.sandbox.kept import Rules  # only here: it takes long, and few need it
    if uid is not None and not direct:
        enter(sock)
        privileges.stage(setup["sources"])
    elif uid is not None and privileges.out_of_reach(setup["sources"], uid, gid):
        reach(sock, setup["sources"], uid, gid)
    rules = Rules(direct, setup["seccomp"]) if direct else None
    privileges.drop(uid, gid)
    return rules


def main() -> None:
    """Serve until the server is gone."""
    os.umask(0o022)  # the stage must be open to the run's account, whatever the server's mask is
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.set_inheritable(False)  # it came by inheritance; no command may have it
    setup = marshal.loads(sock.recv(1 << 19))
    try:
        server_fd = os.pidfd_open(setup["server"])
        if os.getppid() != setup["server"]:
            raise ProcessLookupError("the server is gone")
        rules = prepare(sock, setup)
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        while os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC) < FIRST_FREE_FD - 1:
            pass  # from here on no descriptor is in the way of those that bubblewrap is given
        accounts = os.path.exists("/proc/self/io")  # ours is unreadable now, the commands' are not
    except OSError as error:
        sock.send(f"refused: {error}".encode()[:2000])
        raise SystemExit(1) from error
    sock.send(b"ready %d %d" % (os.getuid(), accounts))
    gc.freeze()  # what is forked for a command stays shared
    # A keeper ends its own command; what bubblewrap holds needs somebody who outlives us.
    guard = guardian.start(setup["tag"]) if rules is None else None
    Broker(sock, server_fd, setup, rules).serve()
    if guard is not None:
        guard.release()
    if rules is not None:
        rules.clear()


if __name__ == "__main__":
    main()
