"""The proxy of one command: the only way out of its cage, to the hosts of its list and no others.

It listens in the command's own network and works in the server's: names are looked up here only.
Every connection has a thread of its own, and ends with the command.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from runtime.policy.reach import Reachable
from runtime.sandbox import outbound, proxy_head
from runtime.sandbox.proxy_head import BadRequest, Body, Head

LIVE = 32
"""Connections at a time."""
MOST = 4096
"""Connections of one command."""
HEAD_SECONDS, IDLE_SECONDS = 15.0, 120.0
TOTAL_BYTES = 4 << 30
"""Of one command, both ways together."""
NAMED = 50
"""Different ends that are told apart in what is reported."""
_PIECE = 1 << 16
_END_SECONDS = 2.0
_MORE = "others"


@dataclass(slots=True)
class Contact:
    """What a command did with one host and port, or why it was refused: never what was said."""

    host: str
    port: int
    refused: str = ""
    count: int = 0
    sent: int = 0
    received: int = 0

    def facts(self) -> dict[str, str | int]:
        """As plain data."""
        return {
            "host": self.host,
            "port": self.port,
            "refused": self.refused,
            "count": self.count,
            "sent": self.sent,
            "received": self.received,
        }


@dataclass
class _Book:
    """Counts, for all threads."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    rows: dict[tuple[str, int, str], Contact] = field(default_factory=dict)
    total: int = 0

    def add(self, host: str, port: int, refused: str = "") -> Contact:
        shown = "".join(c if c.isprintable() else "?" for c in host[:255])
        key = (shown, port, refused)
        with self.lock:
            if key not in self.rows and len(self.rows) >= NAMED:
                key = (_MORE, 0, "refused" if refused else "")
            found = self.rows.setdefault(key, Contact(*key))
            found.count += 1
            return found

    def move(self, contact: Contact, sent: int, received: int) -> bool:
        """Count bytes; whether there may be more."""
        with self.lock:
            contact.sent += sent
            contact.received += received
            self.total += sent + received
            return self.total <= TOTAL_BYTES


class Proxy:
    """Serves `listener` until `close`, which tells what was done."""

    def __init__(
        self,
        listener: socket.socket,
        reachable: Reachable,
        *,
        lookup: outbound.Lookup = outbound.look_up,
    ) -> None:
        self._listener, self._reachable, self._lookup = listener, reachable, lookup
        self._book = _Book()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._closed = False
        self._main = threading.Thread(target=self._accept, name="cage-proxy", daemon=True)
        self._main.start()

    def close(self) -> tuple[Contact, ...]:
        """End every connection. What happened, by host."""
        with self._lock:
            self._closed = True
            ends, threads = list(self._open), list(self._threads)
        for end in (self._listener, *ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + _END_SECONDS
        for thread in (self._main, *threads):  # one that looks up a name ends when that does
            thread.join(max(0.0, until - time.monotonic()))
        self._listener.close()
        with self._book.lock:
            return tuple(self._book.rows.values())

    def _accept(self) -> None:
        count = 0
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            count += 1
            with self._lock:
                full = len(self._threads) >= LIVE or count > MOST
            if full or not self._keep(client):
                self._book.add("", 0, "too many connections")
                client.close()
                continue
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            with self._lock:
                self._threads.add(thread)
            try:
                thread.start()
            except RuntimeError:  # the machine has no thread left
                with self._lock:
                    self._threads.discard(thread)
                    self._open.discard(client)
                self._book.add("", 0, "too many connections")
                client.close()

    def _keep(self, end: socket.socket) -> bool:
        """Whether a socket may live; `close` ends those that do."""
        with self._lock:
            if self._closed:
                return False
            self._open.add(end)
            return True

    def _serve(self, client: socket.socket) -> None:
        origin: socket.socket | None = None
        try:
            head, rest = _listen(client)
            origin = self._reach(client, head)
            if origin is not None:
                self._carry(client, origin, head, rest)
        except BadRequest as error:
            self._book.add(error.host, error.port, str(error))
            _answer(client, 400, f"The proxy of this sandbox refuses the request: {error}.")
        except OSError:
            pass  # one of the two ends is gone: the other is closed below
        finally:
            with self._lock:
                self._open -= {client, origin} if origin else {client}
                self._threads.discard(threading.current_thread())
            for end in (client, origin):
                if end is not None:
                    end.close()

    def _reach(self, client: socket.socket, head: Head) -> socket.socket | None:
        try:
            origin = outbound.connect(head.host, head.port, self._reachable, self._lookup)
        except outbound.NotReached as error:
            self._book.add(head.host, head.port, str(error))
            what = "does not connect" if error.refused else "could not connect"
            text = f"The proxy of this sandbox {what} to {head.host}:{head.port}: {error}."
            _answer(client, 403 if error.refused else 502, text)
            return None
        if not self._keep(origin):
            origin.close()
            return None
        return origin

    def _carry(self, client: socket.socket, origin: socket.socket, head: Head, rest: bytes) -> None:
        contact = self._book.add(head.host, head.port)
        body = None if head.tunnel else Body(head.body)
        first = rest if head.tunnel else head.encode() + rest
        if head.tunnel:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        elif rest and body is not None:
            self._check(contact, body, rest)

        def passes(data: bytes) -> None:
            if body is not None:
                try:
                    self._check(contact, body, data)
                except BadRequest as error:  # an answer may be under way: it gets no second one
                    contact.refused = str(error)
                    raise OSError(str(error)) from error

        up = _Way(client, origin, passes, bytearray(first))
        down = _Way(origin, client, lambda _: None)
        self._book.move(contact, len(first), 0)
        for end in (client, origin):
            end.setblocking(False)
        while not (up.over and down.over) and not (body is not None and down.over):
            ready = _wait((up, down))
            if not ready:
                return
            sent, received = up.step(ready), down.step(ready)
            if not self._book.move(contact, sent, received):
                contact.refused = "the bytes of this command are used up"
                return

    @staticmethod
    def _check(contact: Contact, body: Body, data: bytes) -> None:
        """What follows a request on its connection is another one, for who knows which host."""
        try:
            body.feed(data)
        except BadRequest as error:
            raise BadRequest(str(error), contact.host, contact.port) from None


class _Way:
    """One direction of a connection: what was read and is not written yet. `passes` raises OSError
    for what may not go on."""

    def __init__(
        self,
        source: socket.socket,
        target: socket.socket,
        passes: Callable[[bytes], None],
        first: bytearray | None = None,
    ) -> None:
        self.source, self.target, self.passes = source, target, passes
        self.pending = first or bytearray()
        self.ended = self.over = False

    def wishes(self) -> Iterable[tuple[int, int]]:
        """What to wait for. Nothing more is read before the last piece is written."""
        if self.pending:
            return [(self.target.fileno(), select.POLLOUT)]
        return [] if self.ended else [(self.source.fileno(), select.POLLIN)]

    def step(self, ready: dict[int, int]) -> int:
        """Do what can be done without waiting; how many bytes were read."""
        fresh = b""
        if not self.pending and not self.ended and self.source.fileno() in ready:
            try:
                fresh = self.source.recv(_PIECE)
            except BlockingIOError:
                return 0
            self.passes(fresh)
            self.pending += fresh
            self.ended = not fresh
        if self.pending:
            with contextlib.suppress(BlockingIOError):
                del self.pending[: self.target.send(self.pending)]
        if self.ended and not self.pending and not self.over:
            self.over = True
            with contextlib.suppress(OSError):
                self.target.shutdown(socket.SHUT_WR)
        return len(fresh)


def _wait(ways: tuple[_Way, _Way]) -> dict[int, int]:
    """What is ready; nothing when both were silent for too long."""
    wishes: dict[int, int] = {}
    for way in ways:
        for fd, event in way.wishes():
            wishes[fd] = wishes.get(fd, 0) | event
    poll = select.poll()
    for fd, event in wishes.items():
        poll.register(fd, event)
    return dict(poll.poll(IDLE_SECONDS * 1000))


def _listen(client: socket.socket) -> tuple[Head, bytes]:
    """The head of the request, however it is cut into pieces, and what came behind it."""
    until = time.monotonic() + HEAD_SECONDS
    data = b""
    while b"\r\n\r\n" not in data:
        left = until - time.monotonic()
        if len(data) > proxy_head.HEAD_BYTES:
            raise BadRequest("the head of the request is too long")
        if left <= 0:
            raise BadRequest("the head of the request did not come in time")
        client.settimeout(left)
        try:
            piece = client.recv(_PIECE)
        except TimeoutError:
            continue
        if not piece:
            raise BadRequest("the request ended early") if data else OSError("nothing was asked")
        data += piece
    text, _, rest = data.partition(b"\r\n\r\n")
    if len(text) > proxy_head.HEAD_BYTES:
        raise BadRequest("the head of the request is too long")
    client.settimeout(IDLE_SECONDS)
    return proxy_head.read(text), rest


def _answer(client: socket.socket, status: int, text: str) -> None:
    words = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}
    body = f"{text}\n".encode("ascii", "replace")
    head = (
        f"HTTP/1.1 {status} {words[status]}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with contextlib.suppress(OSError):
        client.settimeout(1.0)
        client.sendall(head.encode("ascii") + body)
        client.shutdown(socket.SHUT_WR)
