"""The server's end of a broker: start it, hand it commands, end it, and clean up if it died."""

from __future__ import annotations

import array
import marshal
import os
import re
import resource
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from runtime.core.errors import BadInput, Unavailable
from runtime.sandbox import layout, processes
from runtime.sandbox.prepared import Prepared
from runtime.sandbox.spec import Limits

GRACE_SECONDS = 0.3  # between SIGTERM and SIGKILL
_START_SECONDS, _SEND_SECONDS, _CLOSE_SECONDS = 20.0, 10.0, 10.0
_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "broker.py")
_MARK = "m31a-cage"
_MAP_REMEDY = (
    "Started as root, the server needs the capabilities SETUID, SETGID and SETFCAP and an account"
    " range (M31A_UID_RANGE) that exists in its user namespace; or start it as an ordinary user,"
    " which also works where no user namespaces are to be had."
)


class Broker:
    """One running broker. Raises Unavailable from the constructor if there can be none."""

    def __init__(
        self,
        prepared: Prepared,
        root: str,
        limits: Limits,
        uid: int | None,
        gid: int | None,
        label: str,
    ) -> None:
        self._owner = os.getpid()
        self._tag = f"{_mark(label)}{secrets.token_hex(8)}"
        self._lock = threading.Lock()
        self.uid = os.geteuid() if uid is None else uid
        self.counts_writes = False
        setup = {
            "server": self._owner,
            "uid": uid,
            "gid": gid if gid else uid if uid is not None else os.getegid(),
            "sources": list(prepared.sources),
            "bwrap": prepared.bwrap,
            "args": dict(prepared.arguments),
            "direct": prepared.direct,
            "tag": self._tag.encode(),
            "seccomp": prepared.filter,
            "grace": GRACE_SECONDS,
            "root": root,
            "private": layout.PRIVATE,
            "memory_bytes": limits.memory_bytes,
            "tmpfs_files": limits.tmpfs_files,
            "written_bytes": limits.written_bytes,
            "cpu_seconds": limits.cpu_seconds,
            "processes": limits.processes,
            "open_files": limits.open_files,
            "limits": _rlimits(limits),
            "sessions": keeps_sessions(),
        }
        self._sock, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._complaint = os.memfd_create("broker", os.MFD_CLOEXEC)
        try:
            with far:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-B", _PROGRAM, str(far.fileno()), self._tag],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._complaint,
                    pass_fds=[far.fileno()], env={}, cwd="/", start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            self._sock.close()
            os.close(self._complaint)
            raise Unavailable(f"The cage's broker cannot be started: {error}") from error
        try:
            self._greet(marshal.dumps(setup))
        except BaseException:
            self.close()
            raise

    def _greet(self, setup: bytes) -> None:
        """Hand over the set-up, write the id maps if asked, wait until it stands."""
        self._sock.settimeout(_START_SECONDS)
        try:
            self._sock.send(setup)
            answer = self._sock.recv(4096)
            if answer == b"map me":
                self._write_maps()
                self._sock.send(b"mapped")
                answer = self._sock.recv(4096)
        except OSError as error:
            raise Unavailable(
                f"The cage's broker did not start: {error}. {self.last_words()}"
            ) from error
        words = answer.decode("utf-8", "replace").split(" ")
        if words[0] != "ready":
            said = " ".join(words[1:]) or self.last_words() or "it ended without a word"
            raise Unavailable(f"The cage's broker refused to start: {said}.", remedy=_MAP_REMEDY)
        self.counts_writes = words[2] == "1"
        self._sock.settimeout(_SEND_SECONDS)

    def _write_maps(self) -> None:
        """Its user namespace gets exactly the ids that this process has, one to one."""
        try:
            for kind in ("uid", "gid"):
                with open(f"/proc/self/{kind}_map", encoding="ascii") as file:
                    rows = [line.split() for line in file]
                text = "".join(f"{inside} {inside} {count}\n" for inside, _, count in rows)
                with open(f"/proc/{self._process.pid}/{kind}_map", "w", encoding="ascii") as file:
                    file.write(text)
        except OSError as error:
            raise Unavailable(
                f"The cage's id map cannot be written: {error}.", remedy=_MAP_REMEDY
            ) from error

    def send(self, request: dict[str, object], fds: list[int]) -> bool:
        """Hand over one command and its descriptors. False: the broker is gone (or stuck)."""
        if os.getpid() != self._owner:
            raise Unavailable(
                "This cage was made by another process.", remedy="Make one after the fork."
            )
        data = marshal.dumps(request)
        with self._lock:
            try:
                rights = array.array("i", fds).tobytes()
                self._sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            except OSError:
                return False
        return True

    @property
    def pid(self) -> int:
        """The broker's process id on the host."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def last_words(self) -> str:
        """The end of what it wrote to its standard error."""
        if self._complaint < 0:
            return ""
        size = os.fstat(self._complaint).st_size
        text = os.pread(self._complaint, 2000, max(0, size - 2000)).decode("utf-8", "replace")
        return text.strip().rpartition("\n")[2]

    def bury(self) -> None:
        """It is gone, or of no use any more: end it and what it left half set up."""
        with self._lock:
            self._process.kill()
            self._process.wait()
            _end(lambda name: name == self._tag)

    def close(self) -> None:
        """End every command, then the broker. May be called twice."""
        if os.getpid() != self._owner:
            self._sock.close()
            return
        until = time.monotonic() + _CLOSE_SECONDS
        self._hang_up(until)
        try:
            status = self._process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            status = -signal.SIGKILL
        if status != 0:
            self.bury()
        with self._lock:
            if self._complaint >= 0:
                os.close(self._complaint)
                self._complaint = -1

    def _hang_up(self, until: float) -> None:
        """Wait for its end of the socket to go, which is known at once."""
        try:
            self._sock.shutdown(socket.SHUT_WR)
            self._sock.settimeout(max(0.1, until - time.monotonic()))
            self._sock.recv(4096)  # it says nothing after its greeting
        except OSError:
            pass  # gone already, or stuck: whoever waits for the process finds out
        self._sock.close()


def keeps_sessions() -> bool:
    """Whether namespaces may stay for the next command (M31A_SANDBOX_SESSIONS). Raises BadInput."""
    value = os.environ.get("M31A_SANDBOX_SESSIONS", "on")
    if value not in ("on", "off"):
        raise BadInput(
            f"M31A_SANDBOX_SESSIONS is {value!r}.",
            remedy="Set it to on or off, or unset it.",
            field="M31A_SANDBOX_SESSIONS",
        )
    return value == "on"


def end_leftovers(label: str) -> int:
    """End brokers and cages of `label` whose server is gone; the number of processes killed.

    For the claimant of a lost lease: no cage of a label in use may be among them.
    """
    mark = _mark(label)
    return _end(lambda name: name.startswith(mark))


def _mark(label: str) -> str:
    return f"{_MARK}:{re.sub(r'[^A-Za-z0-9_.-]', '_', label)[:80]}:"


def _end(wanted: Callable[[str], bool]) -> int:
    """SIGKILL processes by the mark in their command line: brokers carry it last, cages first."""
    killed = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            handle = os.pidfd_open(int(name))
        except OSError:
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read(65536).decode("utf-8", "replace").split("\0")
            is_broker = len(words) == 8 and words[4] == _PROGRAM and wanted(words[6])
            if is_broker or wanted(words[0]):
                killed += _kill_tree(int(name), handle)
        except OSError:
            continue  # gone meanwhile, or somebody else's
        finally:
            os.close(handle)
    return killed


def _kill_tree(pid: int, handle: int) -> int:
    """It and everything below it, stopped from the top down: a forked keeper holds what no
    namespace ends. The number of those that were killed."""
    signal.pidfd_send_signal(handle, signal.SIGSTOP)
    below: dict[int, int] = {}
    while fresh := [one for one in processes.family(pid)[1:] if one not in below]:
        for one in fresh:
            try:
                below[one] = os.pidfd_open(one)
            except OSError:
                below[one] = -1
                continue
            _signal(below[one], signal.SIGSTOP)
    killed = 1 + sum(1 for one in below.values() if one >= 0)
    for one in (*below.values(), handle):
        if one >= 0:
            _signal(one, signal.SIGKILL)
    for one in below.values():
        if one >= 0:
            os.close(one)
    return killed


def _signal(handle: int, number: int) -> None:
    try:
        signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        return  # over, or not ours: a first process that its own namespace made another's


def _rlimits(limits: Limits) -> list[tuple[int, int]]:
    """Per process, but for the number of processes, which the kernel counts per cage. Never above
    what this process itself may have: that could not be set."""
    wanted = {
        resource.RLIMIT_DATA: limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NPROC: limits.processes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 1,  # 0 would not stop a dump into a pipe
        resource.RLIMIT_MEMLOCK: 64 << 10,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    found = []
    for which, value in wanted.items():
        hard = resource.getrlimit(which)[1]
        found.append((which, value if hard == resource.RLIM_INFINITY else min(value, hard)))
    return found
