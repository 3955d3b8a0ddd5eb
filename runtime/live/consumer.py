"""The consumer of `/rpc`: one task sends, the other one only notes what the browser said.

Each socket holds a cursor, its person's id and one bit. Everything that is sent is read from
the hub's feeds at the moment of sending, so nothing piles up behind a slow browser.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.db.utils import Error as DatabaseError

from runtime import approvals
from runtime.core.errors import BadInput, NotFound, Unavailable
from runtime.journal import hub
from runtime.journal.look import Dressed
from runtime.models import User

from . import frames, limits, visitors
from .cursor import Cursor

BAD_FRAME = 4400
SIGNED_OUT = 4401
NOT_VISIBLE = 4404
STALLED = 4408
OWN_MISTAKE = 1011
AHEAD = 4409
TOO_MANY = 4429
UNAVAILABLE = 4503

log = logging.getLogger(__name__)


class _End(Exception):
    """The socket ends now, with this code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Rows, speech and state of one run, and the inbox of the person. No decision enters here."""

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        """One socket from handshake to end; seat, feed and task are given back at any end."""
        self._loop = asyncio.get_running_loop()
        self._limits = limits.current()
        self._bit = asyncio.Event()
        self._hello: frames.Hello | None = None
        self._failure: _End | None = None
        self._feed: hub.Feed | None = None
        self._cursor: Cursor | None = None
        self._sender: asyncio.Task[None] | None = None
        self._state = ""
        self._inbox = ""
        self._waiting: approvals.Waiting | None = None
        self._greeted = False
        with ExitStack() as self._held:
            try:
                await super().__call__(scope, receive, send)
            finally:
                if self._sender is not None:
                    self._sender.cancel()
                    with suppress(asyncio.CancelledError):
                        await self._sender
                self._leave()

    async def connect(self) -> None:
        """Refuse before the handshake whoever is not signed in or comes from another site."""
        self._key: str | None = getattr(self.scope.get("session"), "session_key", None)
        self._hub = hub.here(frames.dress)
        if not visitors.same_place(self.scope):
            await self.close()
            return
        try:
            user = await self._hub.call(visitors.of_session, self._key)
        except DatabaseError as error:
            log.warning("A socket was refused, the database cannot be read: %s", error)
            user = None
        if user is None:
            await self.close()
            return
        self._pk = user.pk
        await self.accept()
        if not self._held.enter_context(visitors.seat(user.pk, self._limits.sockets)):
            await self.close(TOO_MANY, "Too many open pages: close some.")
            return
        self._held.enter_context(self._hub.present(self._bit))
        self._sender = self._loop.create_task(self._run(user), name="live")

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Note what the browser says; the sender acts on it."""
        if self._failure is not None or self._sender is None:
            return
        try:
            if text_data is None or len(text_data.encode()) > self._limits.frame_bytes:
                raise BadInput(f"Frames are text of at most {self._limits.frame_bytes} bytes.")
            match frames.read(text_data, self._limits.open_messages):
                case frames.Hello() as hello:
                    self._hello = hello
                case frames.Ack(seq) if self._cursor is not None and self._hello is None:
                    self._cursor.ack(seq, self._loop.time())
        except BadInput as error:
            self._failure = _End(BAD_FRAME, error.message)
        self._bit.set()

    async def _run(self, user: User) -> None:
        """The sender: once round for each time the bit is set, or a clock is due."""
        try:
            self._recheck_at = self._loop.time() + self._limits.recheck_seconds
            self._beat_at = self._hello_at = self._loop.time()
            while True:
                self._bit.clear()
                if self._failure is not None:
                    raise self._failure
                if self._hub.broken:
                    raise _End(UNAVAILABLE, "The journal cannot be read.")
                if self._hello is not None:
                    user = await self._greet()
                if self._loop.time() >= self._recheck_at:
                    user = await self._recheck()
                if self._greeted:
                    await self._send_news(user)
                await self._rest()
        except _End as end:
            with suppress(Exception):
                await self.close(end.code, end.reason[:120])
        except (DatabaseError, Unavailable) as error:
            log.warning("A socket was closed, the database cannot be read: %s", error)
            with suppress(Exception):
                await self.close(UNAVAILABLE, "The journal cannot be read.")
        except Exception:
            # Whatever it was: a socket without its sender would show old state as live.
            log.exception("A socket was closed by a mistake of ours.")
            with suppress(Exception):
                await self.close(OWN_MISTAKE, "An error here; the log has it.")

    async def _rest(self) -> None:
        """Sleep until the bit is set, or until the next clock is due."""
        due = [self._recheck_at]
        if self._greeted:
            due.append(self._beat_at)
        feed, cursor = self._feed, self._cursor
        if feed and cursor and cursor.waits(feed.head or 0, feed.speaking):
            due.append(cursor.stalls_at())
        with suppress(TimeoutError):
            async with asyncio.timeout_at(min(due)):
                await self._bit.wait()

    async def _greet(self) -> User:
        """Begin, or begin again, where the browser says it is."""
        await asyncio.sleep(max(0.0, self._hello_at - self._loop.time()))
        hello, self._hello = self._hello, None
        assert hello is not None
        self._leave()
        self._hello_at = self._loop.time() + self._limits.hello_seconds
        user = await self._recheck(hello.run)
        if hello.run is not None:
            try:
                self._feed = await self._hub.join(hello.run, self._bit)
            except NotFound as error:
                raise _End(NOT_VISIBLE, "There is no such run.") from error
            if hello.after > (self._feed.head or 0):
                raise _End(AHEAD, "The page holds rows that are not in the journal: reload.")
            self._cursor = Cursor(hello.after, hello.open, self._limits, self._loop.time())
        self._greeted = True
        self._state, self._waiting, self._inbox = "", None, ""
        await self._beat()
        return user

    async def _recheck(self, run: str | None = None) -> User:
        """Session and right, from the database. Ends the socket where either is gone."""
        run = run or (self._feed.run if self._feed else None)
        user, visible = await self._hub.call(visitors.still, self._key, self._pk, run)
        self._recheck_at = self._loop.time() + self._limits.recheck_seconds
        if user is None:
            raise _End(SIGNED_OUT, "Signed out.")
        if not visible:
            raise _End(NOT_VISIBLE, "There is no such run.")
        self._inbox = ""  # rights may have changed, and with them what is counted
        return user

    async def _send_news(self, user: User) -> None:
        if self._inbox != self._hub.inbox or self._waiting is None:
            self._inbox = self._hub.inbox
            waiting = await self._hub.call(approvals.waiting, user)
            if waiting != self._waiting:
                self._waiting = waiting
                note = frames.note("inbox", count=waiting.open, overdue=waiting.overdue)
                await self._say(note)
        if self._feed is not None and self._cursor is not None:
            await self._send_run(self._feed, self._cursor)
        if self._loop.time() >= self._beat_at:
            await self._beat()

    async def _send_run(self, feed: hub.Feed, cursor: Cursor) -> None:
        """State, then rows, then speech: each only what the browser lacks and can take."""
        if feed.gone:
            raise _End(NOT_VISIBLE, "There is no such run.")
        if feed.state != self._state:
            self._state = feed.state
            await self._say(frames.note("state", run=feed.run, state=feed.state))
        while room := cursor.room(feed.head or 0):
            rows = await self._hub.rows(feed, cursor.sent, room)
            if not rows:
                break
            rows = _first(rows, self._limits.rows_bytes)
            text = frames.rows(feed.run, (row.text for row in rows), feed.head or 0)
            cursor.went(rows[-1].seq, len(text), self._loop.time())
            await self._say(text)
        if cursor.sent == feed.head:
            for parts in cursor.speech(feed.speaking, self._loop.time()):
                items = [{"message": m, "part": n, "text": text} for m, n, text in parts]
                await self._say(frames.note("deltas", run=feed.run, items=items))
        if cursor.waits(feed.head or 0, feed.speaking) and self._loop.time() >= cursor.stalls_at():
            raise _End(STALLED, "The page stopped reading: reload.")

    async def _beat(self) -> None:
        """A sign of life, and when the next one is due at the latest."""
        await self._say(frames.note("alive", seconds=self._limits.beat_seconds))

    async def _say(self, text: str) -> None:
        self._beat_at = self._loop.time() + self._limits.beat_seconds
        await self.send(text_data=text)

    def _leave(self) -> None:
        if self._feed is not None:
            self._hub.leave(self._feed, self._bit)
        self._feed = self._cursor = None


def _first(rows: list[Dressed], size: int) -> list[Dressed]:
    """As many rows as fit into a frame, at least one."""
    for count, row in enumerate(rows):
        size -= len(row.text)
        if size < 0:
            return rows[: max(1, count)]
    return rows


class Nowhere(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Any other address: refused."""

    async def connect(self) -> None:
        """Refuse the handshake."""
        await self.close()
