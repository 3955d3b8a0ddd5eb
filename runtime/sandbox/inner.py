"""The first process of namespaces that stay: it starts one command after the other, and proves that
each left nothing.

Forked from the broker for each session, it enters what bubblewrap made and goes one process
namespace deeper, where it is the first: so the kernel keeps every signal of a command away from it,
and all that a command leaves behind becomes a child of its. It is not dumpable: nobody in there can
look into it or write to it. After each command it sends SIGKILL to everything but itself, in one
call, against which the kernel lets nobody fork; that there was nobody is the proof.

Part of the broker's process: standard library only, and nothing is imported once the namespaces
have been entered.
"""

from __future__ import annotations

import ctypes
import fcntl
import marshal
import os
import resource
import signal
import socket
import struct
import time

from runtime.sandbox import privileges, processes
from runtime.sandbox.traces import Traces
from runtime.sandbox.wire import REQUEST_BYTES

TYPE_CHECKING = False  # see broker.py
if TYPE_CHECKING:
    from typing import Any

    Request = dict[str, Any]
    Limits = list[tuple[int, int]]

READY, FAILED = b"ready", b"failed: "
"""What it says once; behind the second one stands why."""
RESULT = struct.Struct("=ii?qq")
"""RAN or NOT_STARTED, exit status, whether the session is as new, microseconds of CPU, bytes at the
peak."""
RAN, NOT_STARTED = range(2)
WROTE = struct.Struct("=q")
"""Bytes for the disk, of the orphans that have ended: nobody else may read that of this process."""
OURS = 1  # processes that the kernel counts with the command's, beside bubblewrap's first
_OWNER = 0xB701  # NS_GET_USERNS
_KINDS = {
    "net": 0x40000000, "ipc": 0x08000000, "uts": 0x04000000, "cgroup": 0x02000000,
    "pid": 0x20000000, "mnt": 0x00020000,
}  # fmt: skip
_NO_EXEC = 8
_DUMPABLE = 4
_STANDING_SECONDS = 5.0  # until bubblewrap has come to its gate
_DEVICES = (b"null", b"zero", b"full", b"random", b"urandom", b"tty")  # of the machine's root
_KNOWN = frozenset({b"/proc", b"/dev/pts", *(b"/dev/" + name for name in _DEVICES)})
_REAPED_AT_MOST = 1 << 12
_FEWEST_FILES = 32  # descriptors: our own, and those of a command that is being started
_TELL_BYTES = 1 << 20  # of what orphans wrote, before the broker hears of it
_BLOCK = 512  # of ru_oublock


def start(
    first: int,
    filter_text: bytes,
    limits: Limits,
    private: tuple[str, ...],
    shown: frozenset[bytes],
    null: int,
) -> tuple[int, socket.socket]:
    """Fork it, for the namespaces of process `first`: who leads the way, to be reaped, and the
    way to it. Over that it says READY and then one RESULT for each request; or FAILED, and ends. `private`:
    the directories in memory, in which nothing may be touched. `shown`: what of the machine
    commands may write."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid:
        its.close()
        return pid, mine
    try:
        way = _alone(its.detach(), null)
        try:
            words = _own_words()
            users = _enter(first, frozenset(map(os.fsencode, private)) | shown)
            _descend()
            _settle(users, limits, filter_text, words)
            traces = Traces(private)
        except Exception as error:
            way.send(FAILED + str(error).encode("utf-8", "replace")[:200])
            raise
        _serve(way, traces)
    finally:
        os._exit(1)


def _alone(kept: int, null: int) -> socket.socket:
    """Let go of everything but one socket; the first three descriptors lead nowhere."""
    for old, at in ((null, 0), (null, 1), (null, 2), (kept, 3)):
        if old != at:
            os.dup2(old, at, inheritable=False)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    return socket.socket(fileno=3)


def _own_words() -> tuple[int, int]:
    """Where the command line of this process lies in its memory, and how long it is."""
    fields = processes.read_small("/proc/self/stat").rpartition(b")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    if not 0 < start < end:
        raise PermissionError("the command line cannot be found")
    return start, end - start


def _enter(first: int, writable: frozenset[bytes]) -> int:
    """Into the namespaces of process `first`, but for its users: a descriptor of these. Raises
    OSError where one of them cannot be entered."""
    _wait_for_gate(first)
    if others := _writable(first) - writable - _KNOWN:
        raise PermissionError(f"nobody looks for traces in {sorted(others)}")
    there = {name: _namespace(first, name) for name in (*_KINDS, "user")}
    owner = fcntl.ioctl(
        there["net"], _OWNER
    )  # bubblewrap's outer users; it is in inner ones itself
    _join("owner", owner, privileges.NEW_USERS)
    for name, kind in _KINDS.items():
        _join(name, there[name], kind)
    return there["user"]


def _descend() -> None:
    """Two forks: one lands in bubblewrap's process namespace, the next in one below it. That goes on
    once the others have ended and are reaped: nobody else would, and the namespace would not end."""
    ended, held = os.pipe()
    middle = os.fork()
    if middle:
        os.waitpid(middle, 0)
        os._exit(0)
    privileges.must("unshare", privileges.libc.unshare(_KINDS["pid"]))
    if os.fork():
        os._exit(0)
    if os.getpid() != 1:
        raise PermissionError("it is not the first process")
    os.close(held)
    os.read(ended, 1)
    os.close(ended)


def _settle(users: int, limits: Limits, filter_text: bytes, words: tuple[int, int]) -> None:
    """A /proc of these processes; then what every command inherits: no capability, the limits of
    one process, the filter. Commands can read our command line: what it tells of the machine goes.
    """
    hidden = privileges.NO_SUID | privileges.NO_DEVICES | _NO_EXEC
    privileges.mount(b"proc", b"/proc", b"proc", hidden)
    privileges.mount(b"/proc/sys", b"/proc/sys", None, privileges.BIND)
    again = privileges.REMOUNT | privileges.BIND | privileges.READ_ONLY
    privileges.mount(None, b"/proc/sys", None, again | hidden)
    _join("users", users, privileges.NEW_USERS)
    privileges.surrender()
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    os.setsid()  # whose members commands are, as they are of bubblewrap's: they may make their own
    ctypes.memset(words[0], 0, words[1])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # what has no handler does not reach us
    for which, value in limits:
        value += OURS if which == resource.RLIMIT_NPROC else 0
        resource.setrlimit(which, (value, value))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < _FEWEST_FILES:
        raise PermissionError("too few descriptors")
    privileges.option("dumpable", _DUMPABLE, 0)
    privileges.install(privileges.Filter(filter_text))


def _wait_for_gate(first: int) -> None:
    """bubblewrap gives up its capabilities as the last thing before its gate."""
    until = time.monotonic() + _STANDING_SECONDS
    while b"\nCapEff:\t0000000000000000\n" not in processes.read_small(f"/proc/{first}/status"):
        if processes.is_over(first) or time.monotonic() > until:
            raise TimeoutError("bubblewrap does not come to its gate")
        time.sleep(0.001)


def _writable(first: int) -> set[bytes]:
    """The places of all file systems that are not mounted read-only."""
    with open(f"/proc/{first}/mountinfo", "rb") as file:
        rows = [line.split(b" ") for line in file]
    return {
        row[4].replace(b"\\040", b" ").replace(b"\\011", b"\t").replace(b"\\134", b"\\")
        for row in rows
        if b"ro" not in row[5].split(b",")
    }


def _namespace(first: int, name: str) -> int:
    return os.open(f"/proc/{first}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)


def _join(what: str, fd: int, kind: int) -> None:
    privileges.must(what, privileges.libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)))


def _serve(way: socket.socket, traces: Traces) -> None:
    """One request after the other, until the broker is gone."""
    room = bytearray(REQUEST_BYTES)
    rights_room = socket.CMSG_LEN(2 * struct.calcsize("i"))
    way.send(READY)
    while True:
        size, rights, _, _ = way.recvmsg_into([room], rights_room, socket.MSG_CMSG_CLOEXEC)
        fds = [fd for _, _, raw in rights for (fd,) in struct.iter_unpack("i", raw)]
        if not size or len(fds) != 2:
            return
        try:
            pid = _spawn(marshal.loads(memoryview(room)[:size]), fds)
        except OSError:
            way.send(RESULT.pack(NOT_STARTED, -1, True, 0, 0))
            continue
        finally:
            for fd in fds:
                os.close(fd)
        code, cpu, peak = _wait(pid, way)
        clean = _nobody_left() and traces.none()
        way.send(RESULT.pack(RAN, code, clean, cpu, peak))


def _wait(pid: int, way: socket.socket) -> tuple[int, int, int]:
    """Exit status, microseconds of CPU and bytes at the peak. Orphans end meanwhile, and count."""
    spent, peak, wrote, told = 0.0, 0, 0, 0
    while True:
        found, status, usage = os.wait4(-1, 0)
        spent += usage.ru_utime + usage.ru_stime
        peak = max(peak, usage.ru_maxrss << 10)
        if found == pid:
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
            return code, round(spent * 1e6), peak
        wrote += usage.ru_oublock * _BLOCK
        if wrote - told >= _TELL_BYTES:
            told = wrote
            way.send(WROTE.pack(wrote))


def _nobody_left() -> bool:
    """Whether there is no other process; else there is none any more."""
    try:
        for _ in range(_REAPED_AT_MOST):  # orphans that make others as fast are no end
            if not os.waitpid(-1, os.WNOHANG)[0]:
                break
    except ChildProcessError:
        pass  # none that is ours to reap
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return True
    return False


def _spawn(request: Request, fds: list[int]) -> int:
    """Start the command: its number. Raises OSError where bubblewrap shall try, and say why not."""
    argv: list[bytes] = request["argv"]
    env: dict[bytes, bytes] = request["env"] | {b"PWD": request["cwd"]}  # as bubblewrap does
    os.chdir(request["cwd"])
    try:
        return os.posix_spawn(
            _found(argv[0], env), argv, env,
            file_actions=[
                # one of its own: who shares an opened file shares its flags, owner and locks
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                *((os.POSIX_SPAWN_DUP2, fd, at) for at, fd in enumerate(fds, 1)),
            ],
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores both
        )  # fmt: skip
    finally:
        os.chdir("/")


def _found(program: bytes, env: dict[bytes, bytes]) -> bytes:
    """As execvp looks for it."""
    if b"/" in program:
        return program
    for folder in env.get(b"PATH", b"").split(b":"):
        path = folder + b"/" + program
        if folder and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError
