"""One command on its way through a broker: descriptors out, output and the verdict back."""

from __future__ import annotations

import array
import math
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypedDict

from runtime.sandbox import wire
from runtime.sandbox.client import GRACE_SECONDS, Broker
from runtime.sandbox.output import Kept

OnOutput = Callable[[str, bytes], None]
OnListener = Callable[[socket.socket], None]
_CANCEL_EVERY = 0.03  # seconds between looks at the caller's wish
_DRAIN_SECONDS = 1.0  # for output after the end: all writers are gone, so it is there or nowhere
_PATIENCE = 15.0  # seconds beyond the deadline after which the broker itself is given up
_READ = 1 << 16
_ROOM = socket.CMSG_LEN(4 * array.array("i").itemsize)


class Following(TypedDict):
    """How a command is followed: `Cell.run` says what each means."""

    wall: float
    keep: int
    cancel: threading.Event | None
    on_output: OnOutput | None
    stdout_to: int | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the broker says. `code` is None where the program did not report one."""

    code: int | None
    reason: int
    cpu_ms: int
    peak_memory: int
    text: str
    shared: bool = False  # it ran where others had run before


GONE = Verdict(None, wire.BROKEN, 0, 0, "the cage's broker is gone; a new cage is needed")


@dataclass(slots=True)
class Exchange:
    """A finished command."""

    verdict: Verdict
    stdout: Kept
    stderr: Kept
    seconds: float
    sent: int  # bytes that went to `stdout_to`, where that can be told


def exchange(
    link: Broker,
    request: dict[str, object],
    *,
    wall: float,
    keep: int,
    cancel: threading.Event | None,
    on_output: OnOutput | None,
    stdout_to: int | None,
    most: float = math.inf,
    on_listener: OnListener | None = None,
    group: tuple[int, ...] = (),
) -> Exchange:
    """Send one command and read until it has ended; memory stays within `keep` per stream.

    `group`: the way into its control group and its end, if it has one. More than `most` bytes of
    output end the command. `on_listener` gets the socket of its proxy,
    where the request asks for one. Whatever the two callbacks raise ends the command and is raised
    here.
    """
    began, place = time.monotonic(), _position(stdout_to)
    kept = {"stdout": Kept(keep), "stderr": Kept(keep)}
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine:
        readers, given = _pipes(stdout_to)
        if os.geteuid() == 0:  # so that a command can open its own output again by name
            for fd in readers:
                os.fchown(fd, link.uid, -1)
        try:
            with theirs:
                handed = _hand_over(link, request, given, theirs, group)
            if not handed:
                return Exchange(GONE, kept["stdout"], kept["stderr"], 0.0, 0)
            reader = _Reader(link, mine, readers, kept, most, cancel, on_output, on_listener)
            verdict = reader.follow(began + wall)
        finally:
            for fd in readers:
                os.close(fd)
    seconds = time.monotonic() - began
    sent = _position(stdout_to) - place
    return Exchange(verdict, kept["stdout"], kept["stderr"], seconds, max(0, sent))


def _position(fd: int | None) -> int:
    """Where a file stands (the command shares the position); 0 for what has none."""
    try:
        return 0 if fd is None else os.lseek(fd, 0, os.SEEK_CUR)
    except OSError:
        return 0


def _pipes(stdout_to: int | None) -> tuple[dict[int, str], list[int]]:
    """Our ends by stream, and the ends to give away."""
    err, err_w = os.pipe()
    if stdout_to is not None:
        return {err: "stderr"}, [os.dup(stdout_to), err_w]
    out, out_w = os.pipe()
    return {out: "stdout", err: "stderr"}, [out_w, err_w]


def _hand_over(
    link: Broker,
    request: dict[str, object],
    given: list[int],
    control: socket.socket,
    group: tuple[int, ...],
) -> bool:
    """Pass the descriptors on and keep none of them but those of the group."""
    gate, gate_w = os.pipe()
    fds = [*given, gate, gate_w]
    try:
        # Read and write in one: a gate whose keeper dies stays shut, it does not report an end.
        both = os.open(f"/proc/self/fd/{gate}", os.O_RDWR | os.O_CLOEXEC)
        fds.append(both)
        return link.send(request, [*given, control.fileno(), both, *group])
    finally:
        for fd in fds:
            os.close(fd)


@dataclass(slots=True)
class _Reader:
    """Reads everything until the verdict is there and the streams have ended."""

    link: Broker
    control: socket.socket
    readers: dict[int, str]
    kept: dict[str, Kept]
    most: float
    cancel: threading.Event | None
    on_output: OnOutput | None
    on_listener: OnListener | None
    poll: select.poll = field(default_factory=select.poll)
    verdict: Verdict | None = None
    ended: int | None = None  # why it was told to end from here

    def follow(self, deadline: float) -> Verdict:
        """The verdict; GONE or another broken one where there is none in time."""
        for fd in (*self.readers, self.control.fileno()):
            self.poll.register(fd, select.POLLIN)
        open_streams = set(self.readers)
        give_up = deadline + GRACE_SECONDS + _PATIENCE
        while self.verdict is None or open_streams:
            now = time.monotonic()
            if now >= give_up:
                return self.verdict or _give_up(self.link)
            self.look()
            waits = give_up - now
            if self.cancel is not None and self.ended is None:
                waits = min(waits, _CANCEL_EVERY)
            for fd, _ in self.poll.poll(waits * 1000):
                if fd in open_streams:
                    if not self.read(fd):
                        open_streams.discard(fd)
                elif self.verdict is None and self.hear():
                    give_up = time.monotonic() + _DRAIN_SECONDS
        if self.ended is not None and self.verdict.reason == wire.CANCELLED:
            return replace(self.verdict, reason=self.ended)
        return self.verdict

    def look(self) -> None:
        """End it where somebody wishes that, or its output is too much."""
        if self.ended is not None or self.verdict is not None:
            return
        if self.cancel is not None and self.cancel.is_set():
            self.ended = wire.CANCELLED
        elif sum(stream.total for stream in self.kept.values()) > self.most:
            self.ended = wire.OVER_OUTPUT
        if self.ended is not None:
            _cancel(self.control)

    def read(self, fd: int) -> bool:
        """A piece of a stream; whether there may be more."""
        data = os.read(fd, _READ)
        if not data:
            self.poll.unregister(fd)
            return False
        self.kept[self.readers[fd]].feed(data)
        if self.on_output is not None:
            self.on_output(self.readers[fd], data)
        return True

    def hear(self) -> bool:
        """A message of the broker's; whether it was the last one."""
        try:
            data, rights, _, _ = self.control.recvmsg(4096, _ROOM, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            data, rights = b"", []
        fds = [fd for _, _, raw in rights for fd in array.array("i", raw)]
        if data == wire.LISTENER and self.on_listener is not None and len(fds) == 1:
            self.on_listener(socket.socket(fileno=fds[0]))
            return False
        for fd in fds:
            os.close(fd)
        self.poll.unregister(self.control.fileno())
        self.verdict = _verdict(data)
        if self.verdict is GONE:  # what it held at the gate would hold our pipes for ever
            self.link.bury()
        return True


def _cancel(control: socket.socket) -> None:
    try:  # not a message: one left unread would turn the answer into an error
        control.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the broker is gone; reading its side says so


def _give_up(link: Broker) -> Verdict:
    """The broker does not answer: its end takes every command along."""
    link.bury()
    return Verdict(None, wire.BROKEN, 0, 0, "the cage's broker did not answer and was ended")


def _verdict(data: bytes) -> Verdict:
    if len(data) < wire.REPLY.size:
        return GONE
    code, reason, cpu, peak, shared = wire.REPLY.unpack_from(data)
    text = data[wire.REPLY.size :].decode("utf-8", "replace")
    return Verdict(None if code < 0 else code, reason, cpu // 1000, peak, text, shared)
