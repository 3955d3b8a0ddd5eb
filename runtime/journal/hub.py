"""One reader of the database per web process, for all browsers together.

    hint, or a second → one look (in the hub's own database thread) → feeds → watchers' bits

A feed holds the last rows of a run that somebody watches. A watcher holds a number and is
woken by one bit; no queue exists per browser. Who falls behind a feed reads the table. The hub
starts with its first watcher, sleeps without any, and ends with the process.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from django.db import close_old_connections, connection, connections
from django.db.utils import Error as DatabaseError

from runtime.core.errors import NotFound, Unavailable

from . import hint, look
from .look import Dress, Dressed, News

RING_ROWS = 2000
RING_BYTES = 8 << 20
UNASKED_SECONDS = 1.0
POLL_SECONDS = 0.05
FEW = 4
TOGETHER_SECONDS = 0.05
"""With more than a few watchers, rows are sent in batches of this length."""
INBOX_SECONDS = 0.2
REOPEN_SECONDS = 5.0
PATIENCE_SECONDS = 10.0
ENDED_KEPT = 256

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)


class Feed:
    """What is known of one run: its state, its last rows, and what is being said in it."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.head: int | None = None
        self.state = ""
        self.gone = False
        self.rows: deque[Dressed] = deque()
        self.size = 0
        self.speaking: dict[str, list[str]] = {}
        """The parts of each open message; part n is at n - 1."""
        self.ended: dict[str, None] = {}
        self.watchers: set[asyncio.Event] = set()

    def holds(self, seq: int) -> bool:
        """Whether every row above `seq` is in the ring."""
        return seq >= (self.rows[0].seq - 1 if self.rows else self.head or 0)

    def after(self, seq: int, limit: int) -> list[Dressed]:
        """Rows above `seq` from the ring, which must hold them."""
        if not self.rows:
            return []
        start = max(0, seq + 1 - self.rows[0].seq)
        return list(islice(self.rows, start, start + limit))

    def place(self) -> look.Place:
        """How far this feed is, as the database thread needs it."""
        said = {message: len(parts) for message, parts in self.speaking.items()}
        return look.Place(self.head, said, frozenset(self.ended))

    def take(self, news: News) -> bool:
        """Add what a look found; whether anything changed."""
        before = (self.head, self.state, self.gone)
        self.gone, self.state, self.head = news.gone, news.state, news.head
        if self.rows and news.rows and news.rows[0].seq != self.rows[-1].seq + 1:
            self.rows.clear()
            self.size = 0
        for row in news.rows:
            self.rows.append(row)
            self.size += len(row.text)
        while len(self.rows) > RING_ROWS or self.size > RING_BYTES:
            self.size -= len(self.rows.popleft().text)
        for message in news.ended:
            self.ended[message] = None
        while len(self.ended) > ENDED_KEPT:
            del self.ended[next(iter(self.ended))]
        for message in [name for name in self.speaking if name not in news.speaking]:
            del self.speaking[message]
        spoke = False
        for message, part, text in news.parts:
            said = self.speaking.setdefault(message, [])
            if part == len(said) + 1:
                said.append(text)
                spoke = True
        return spoke or before != (self.head, self.state, self.gone)


class Hub:
    """The reader of one event loop. `dress` turns an event into the text that browsers get."""

    def __init__(self, dress: Dress) -> None:
        self._dress = dress
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hub")
        self.watched: dict[str, Feed] = {}
        self._bits: set[asyncio.Event] = set()
        self._hinted: set[str] = set()
        self._hint = asyncio.Event()
        self._occupied = asyncio.Event()
        self._ear: hint.Listener | None = None
        self._ear_at = 0.0
        self._version = -1
        self._inbox_at = 0.0
        self._inbox_timer: asyncio.TimerHandle | None = None
        self.inbox = ""
        """Changes whenever the set of pending approvals does."""
        self.broken = False
        """The database could not be read; whoever relies on the feeds must say so."""
        self.polls = False
        """No hints can be had, so SQLite is asked for its counter of commits."""
        self.looks = 0
        self._task = self._loop.create_task(self._follow(), name="hub")

    @property
    def hears(self) -> bool:
        """Whether hints reach this hub; without them it looks every second."""
        return self._ear is not None

    async def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run database work in the hub's thread, one after the other."""
        call = partial(work, *args, **kwargs)
        return await self._loop.run_in_executor(self._thread, _with_fresh_connection, call)

    @contextmanager
    def present(self, bit: asyncio.Event) -> Iterator[None]:
        """Count a browser in: its bit is set when the inbox changes or the hub breaks."""
        self._bits.add(bit)
        self._occupied.set()
        try:
            yield
        finally:
            self._bits.discard(bit)
            if not self._bits:
                self._occupied.clear()

    async def join(self, run: str, bit: asyncio.Event) -> Feed:
        """Watch a run. Raises `NotFound`, or `Unavailable` while the database cannot be read."""
        feed = self.watched.setdefault(run, Feed(run))
        feed.watchers.add(bit)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while feed.head is None and not feed.gone:
                    self._hinted.add(run)
                    self._hint.set()
                    bit.clear()
                    await bit.wait()
            if feed.gone:
                raise NotFound(f"There is no run {run}.")
        except BaseException as error:
            self.leave(feed, bit)
            if isinstance(error, TimeoutError):
                raise Unavailable(f"Run {run} could not be read in time.") from error
            raise
        bit.set()  # other news may have come while the bit was ours
        return feed

    def leave(self, feed: Feed, bit: asyncio.Event) -> None:
        """Watch a run no more. The last one to leave takes the feed along."""
        feed.watchers.discard(bit)
        if not feed.watchers and self.watched.get(feed.run) is feed:
            del self.watched[feed.run]

    async def rows(self, feed: Feed, after: int, limit: int) -> list[Dressed]:
        """The next rows above `after`: from the ring, or from the table where it is past."""
        if feed.holds(after):
            return feed.after(after, limit)
        return await self.call(look.rows, feed.run, after, limit, self._dress)

    async def close(self) -> None:
        """Stop, and close what is open. Only tests need it; a process just ends."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._drop_ear()
        await self._loop.run_in_executor(self._thread, connections.close_all)
        self._thread.shutdown()

    async def _follow(self) -> None:
        while True:
            await self._occupied.wait()
            try:
                await self._open_ear()
                runs = await self._wait()
                await self._look(runs)
                self.broken = False
            except (DatabaseError, OSError) as error:
                log.warning("The journal cannot be read (%s); trying again.", error)
                self.broken = True
                self._wake(self._bits)
                await asyncio.sleep(UNASKED_SECONDS)
            except Exception:
                log.exception("The hub met an error of its own; trying again.")
                self.broken = True
                self._wake(self._bits)
                await asyncio.sleep(UNASKED_SECONDS)
            if len(self._bits) > FEW:
                await asyncio.sleep(TOGETHER_SECONDS)

    async def _wait(self) -> set[str]:
        """The runs to look at: those hinted at, or all after a second without a hint."""
        deadline = self._loop.time() + UNASKED_SECONDS
        while not self._hint.is_set() and (left := deadline - self._loop.time()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, POLL_SECONDS) if self.polls else left):
                    await self._hint.wait()
            if self.polls and not self._hint.is_set():
                version = await self.call(look.data_version)
                if version != self._version:
                    self._version = version
                    return set(self.watched)
        hinted, self._hinted = self._hinted, set()
        asked = self._hint.is_set()
        self._hint.clear()
        return hinted if asked else set(self.watched)

    async def _look(self, runs: set[str]) -> None:
        places = {run: self.watched[run].place() for run in runs if run in self.watched}
        inbox = self._loop.time() >= self._inbox_at
        if not inbox and self._inbox_timer is None:
            self._inbox_timer = self._loop.call_at(self._inbox_at, self._hint.set)
        if not inbox and not places:
            return
        found = await self.call(look.once, places, inbox, self._dress)
        self.looks += 1
        if found.inbox is not None:
            self._inbox_at = self._loop.time() + INBOX_SECONDS
            self._inbox_timer = None
            if found.inbox != self.inbox:
                self.inbox = found.inbox
                self._wake(self._bits)
        for run, news in found.runs.items():
            feed = self.watched.get(run)
            # A feed that was made anew meanwhile has another place; it asks for itself.
            if feed is None or feed.head != places[run].head:
                continue
            if feed.take(news) or places[run].head is None:
                self._wake(feed.watchers)
            if news.more:
                self._hinted.add(run)
                self._hint.set()

    @staticmethod
    def _wake(bits: set[asyncio.Event]) -> None:
        for bit in bits:
            bit.set()

    async def _open_ear(self) -> None:
        if self._ear is not None or self._loop.time() < self._ear_at:
            return
        self._ear_at = self._loop.time() + REOPEN_SECONDS
        ear = await self.call(hint.listener)
        self.polls = ear is None and connection.vendor == "sqlite"
        if ear is not None:
            self._ear = ear
            self._loop.add_reader(ear.fileno(), self._hear)
        else:
            self._ear_at = float("inf")

    def _hear(self) -> None:
        if self._ear is None:
            return
        try:
            runs = self._ear.take()
        except OSError as error:
            log.warning(
                "The hint's connection is gone (%s); looking every second meanwhile.",
                error,
            )
            self._drop_ear()
            return
        if self._bits:
            self._hinted |= runs
            self._hint.set()

    def _drop_ear(self) -> None:
        if self._ear is not None:
            self._loop.remove_reader(self._ear.fileno())
            self._ear.close()
            self._ear = None


def _with_fresh_connection(work: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def here(dress: Dress) -> Hub:
    """The hub of the running loop, started on first use."""
    loop = asyncio.get_running_loop()
    hub = _hubs.get(loop)
    if hub is None:
        hub = _hubs[loop] = Hub(dress)
    return hub


async def close_here() -> None:
    """Close the running loop's hub, if there is one."""
    hub = _hubs.pop(asyncio.get_running_loop(), None)
    if hub is not None:
        await hub.close()
