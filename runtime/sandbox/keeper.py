"""The process above one command that no namespace holds together: it ends the whole tree.

Forked from the broker for each command, it adopts every orphan below it, starts the command and
waits for its end, or for the end of its leash (a pipe whose other end only the broker has). Then it
stops the tree from the top down, kills it, and waits until nothing is left; what detached itself
with sessions or double forks is found all the same. A command cannot signal it (Landlock). Part of
the broker's process: standard library only.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import struct
import time
from dataclasses import dataclass

from runtime.sandbox import landlock, privileges, processes

TYPE_CHECKING = False  # see broker.py
if TYPE_CHECKING:
    from typing import NoReturn

STARTED = struct.Struct("=i")  # the command's process id
ENDED = struct.Struct("=iqq")  # exit status or -1, microseconds of CPU, bytes at peak; then a text
_DEATH_SIGNAL = 1
_REFUSED = 126


@dataclass(frozen=True)
class Order:
    """What a keeper is forked with. Descriptors: all of them stand above the first ten."""

    argv: list[bytes]
    env: dict[bytes, bytes]
    cwd: bytes
    root: bytes
    limits: list[tuple[int, int]]
    stdout: int
    stderr: int
    status: int
    leash: int
    rules: int  # -1: no Landlock
    filter: privileges.Filter | None
    join: int  # the way into its control group, -1: it has none


def keep(order: Order) -> NoReturn:
    """The keeper's whole life."""
    try:
        code, text = _live(order)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = round((usage.ru_utime + usage.ru_stime) * 1e6)
        os.write(order.status, ENDED.pack(code, cpu, usage.ru_maxrss << 10) + text[:1000])
    finally:
        os._exit(0)


def _live(order: Order) -> tuple[int, bytes]:
    privileges.option("subreaper", privileges.CHILD_SUBREAPER, 1)
    mine = {
        order.stdout,
        order.stderr,
        order.status,
        order.leash,
        order.rules,
        order.join,
    }
    _close_all_but(mine)  # leashes of other commands among them: they must have no third holder
    complaint, complaint_end = os.pipe2(os.O_CLOEXEC)
    keeper = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(order, complaint_end, keeper)
    for fd in (order.stdout, order.stderr, complaint_end):
        os.close(fd)
    os.write(order.status, STARTED.pack(pid))
    handle = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(order.leash, select.POLLIN)
    poll.poll()
    status = end_all(keeper).get(pid, 0)
    text = os.read(complaint, 1000)
    if text:
        return -1, text
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status), b""


def end_all(above: int, spare: frozenset[int] = frozenset()) -> dict[int, int]:
    """End everything below this process (`above` is its own number) but `spare`; wait statuses of
    its children.

    Stopped from the top down, nobody can start or reap another meanwhile: so each number stays
    what it was until it is killed.
    """
    found: dict[int, int] = {}
    while True:
        stopped: set[int] = set()
        while fresh := [p for p in _below(above, spare) if p not in stopped]:
            for pid in fresh:
                _signal(pid, signal.SIGSTOP)
                stopped.add(pid)
        for pid in stopped:
            _signal(pid, signal.SIGKILL)
        if _reap(found, bool(stopped), spare):
            return found


def _below(above: int, spare: frozenset[int]) -> list[int]:
    """Living processes below `above`, parents first; those in `spare` with all of theirs left out."""
    found: list[int] = []
    for child in processes.children(above):
        if child not in spare:
            found += [pid for pid in processes.family(child) if not processes.is_over(pid)]
    return found


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # over


def _reap(found: dict[int, int], killed: bool, spare: frozenset[int]) -> bool:
    """Collect what is over; whether nothing is left."""
    until = time.monotonic() + 0.05
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid:
            found[pid] = status
            continue
        if spare and not killed:
            return True
        if not killed or time.monotonic() >= until:
            time.sleep(0.001)
            return False
        time.sleep(0.0003)


def _close_all_but(kept: set[int]) -> None:
    low = 3
    for fd in sorted(fd for fd in kept if fd >= 3):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def _become(order: Order, complaint: int, keeper: int) -> NoReturn:
    """The command: bounds first, then the walls, the filter last. Any doubt ends it here."""
    try:
        os.setsid()
        privileges.option("death signal", _DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(_REFUSED)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores both
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        # stdin of its own: who shares an opened file shares its flags, owner and locks
        null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        for at, fd in enumerate((null, order.stdout, order.stderr)):
            os.dup2(fd, at)
        if order.join >= 0:
            os.write(order.join, b"0")  # itself
        _enter(order)
        for which, value in order.limits:
            resource.setrlimit(which, (value, value))
        if order.rules >= 0:
            landlock.restrict(order.rules)
        if order.filter is not None:
            privileges.install(order.filter)
        _close_all_but({complaint})
        _execute(order.argv, order.env)
    except OSError as error:
        text = str(error.strerror or error)
        os.write(complaint, text.encode("utf-8", "replace")[:1000])
    finally:
        os._exit(_REFUSED)


def _enter(order: Order) -> None:
    """The working directory; a link must not have led out of the root."""
    name = os.fsdecode(order.cwd)
    try:
        os.chdir(order.cwd)
    except OSError as error:
        raise OSError(error.errno, f"Can't chdir to {name}: {error.strerror}") from error
    here = os.getcwdb()
    if here != order.root and not here.startswith(order.root.rstrip(b"/") + b"/"):
        raise OSError(1, f"Can't chdir to {name}: it leads out of the workspace")


def _execute(argv: list[bytes], env: dict[bytes, bytes]) -> NoReturn:
    """As execvp does, with a shell for what has no format. Raises OSError with the name."""
    program = argv[0]
    places = [program]
    if b"/" not in program:
        places = [folder + b"/" + program for folder in env.get(b"PATH", b"").split(b":") if folder]
    said = FileNotFoundError(2, "No such file or directory")
    worst: OSError = said
    for place in places:
        try:
            os.execve(place, argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            worst = error if os.path.isfile(place) else worst
        except OSError as error:
            if error.errno == 8:  # no format that the kernel knows
                os.execve(b"/bin/sh", [b"/bin/sh", place, *argv[1:]], env)
            worst = error
            break
    raise OSError(worst.errno, f"execvp {os.fsdecode(program)}: {worst.strerror}")
