"""A data folder with a migrated database, a cast, runs to write into, and sockets to watch them."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest_asyncio
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import connections

from runtime.core import canonical
from runtime.journal import book, hub, kinds
from runtime.journal.append import new_id
from runtime.models import Approval, Run, Task, User
from runtime.people import service
from tests.clock import TRIES, Late
from tests.web.factories import PUSH, STAGES

HOST = "127.0.0.1:8031"
BACKEND = "django.contrib.auth.backends.ModelBackend"
PATIENCE = 30.0
"""Seconds for what only has to come at all."""


@pytest_asyncio.fixture
async def live(site: None) -> AsyncIterator[Path]:
    """The data folder. The hub, and connections in other threads, end with the test."""
    yield settings.M31A.DATA_DIR
    await hub.close_here()
    await sync_to_async(connections.close_all)()


async def elsewhere(work: Callable[..., Any], *args: Any) -> None:
    """Do something in another thread, which leaves no connection open."""

    def done() -> None:
        try:
            work(*args)
        finally:
            connections.close_all()

    await asyncio.to_thread(done)


def person(name: str, *roles: str) -> User:
    """Somebody with roles."""
    return service.add(name, roles or ("submitter",), None)


def make_run(owner: User) -> str:
    """A run with one event and one task."""
    run = Run(
        id=new_id(),
        objective="mend it",
        submitted_by=owner.get_username(),
        state="running",
        created_at=datetime.now(UTC),
    )
    with book.new_run(run) as page:
        Task.objects.create(
            id=new_id(),
            run=run,
            key="main",
            kind="implementation",
            role="implementer",
            state="ready",
            available_at=datetime.now(UTC),
        )
        page.append(
            kinds.RunSubmitted(
                objective="mend it",
                workspace="w",
                workflow="single",
                provider="scripted:x",
                mode="assisted",
                require_edit=False,
                max_steps=10,
                max_attempts=3,
                submitted_by=owner.get_username(),
                verification=[],
                base="",
                tree="",
                uncommitted=0,
                tasks=[],
            ),
            actor=f"user:{owner.get_username()}",
        )
    return run.pk


def say(run: str, count: int = 1, text: str = "word", message: str = "m") -> None:
    """Append finished messages, in one transaction."""
    with book.open_run(run) as page:
        for _ in range(count):
            page.append(
                kinds.MessageCompleted(
                    message=message,
                    step=page.run.event_seq,
                    text=text,
                    model="scripted",
                    input_tokens=1,
                    output_tokens=1,
                    estimated=True,
                ),
                actor="worker",
            )


def ask(run: str) -> Approval:
    """A pending approval, for a task of its own."""
    now = datetime.now(UTC)
    task = Task.objects.create(
        id=new_id(),
        run_id=run,
        key=new_id(),
        kind="implementation",
        role="implementer",
        state="waiting",
        available_at=now,
    )
    card = {
        "sentence": "implementer wants to act",
        "action": PUSH,
        "reason": "a push leaves the worktree",
        "rule": "defaults/git-push",
        "stages": STAGES,
        "risk": "medium",
        "mode": "assisted",
        "role": "implementer",
    }
    return Approval.objects.create(
        id=new_id(),
        run_id=run,
        task=task,
        action=new_id(),
        action_kind="run_tool",
        decision="ASK",
        rule="defaults/git-push",
        risk="medium",
        key="0" * 64,
        digest="1" * 64,
        card=canonical.text(card),
        submitted_by=task.run.submitted_by,
        requested_at=now,
        expires_at=now + timedelta(hours=1),
    )


async def arrives(page: Browser, run: str, seconds: float) -> None:
    """Rows are there within so many seconds, by the median of eleven, in one of three tries."""
    for _ in range(TRIES):
        waits = []
        for number in range(page.rows[-1] + 1, page.rows[-1] + 12):
            await sync_to_async(say)(run)
            start = time.perf_counter()
            await page.until(lambda number=number: page.rows[-1] == number)
            waits.append(time.perf_counter() - start)
        if statistics.median(waits) < seconds:
            return
    raise Late(f"{waits} have a median that is not under {seconds} s")


def log_of(run: str) -> list[int]:
    """The numbers in the journal."""
    from runtime.journal import read

    return [row.seq for row in read.every(run)]


def session_for(user: User) -> str:
    """A live session, as a sign-in makes it."""
    store = import_module(settings.SESSION_ENGINE).SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = BACKEND
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.create()
    return str(store.session_key)


class Browser:
    """A socket, and what a page would hold: rows in order, and the text of open messages."""

    def __init__(
        self, key: str | None, origin: str | None = f"http://{HOST}", path: str = "/rpc"
    ) -> None:
        self.run: str | None = None
        self.rows: list[int] = []
        self.types: list[str] = []
        self.spoken: dict[str, str] = {}
        self.parts: dict[str, int] = {}
        self.state = ""
        self.inbox: int | None = None
        self.overdue: int | None = None
        self.frames = 0
        self.reconnect(key, origin, path)

    def reconnect(
        self, key: str | None, origin: str | None = f"http://{HOST}", path: str = "/rpc"
    ) -> None:
        """A new socket for the same page, which keeps what it holds."""
        from m31a_site.asgi import application

        headers = [(b"host", HOST.encode())]
        if origin is not None:
            headers.append((b"origin", origin.encode()))
        if key is not None:
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={key}".encode()))
        self.wire = WebsocketCommunicator(application, path, headers=headers)
        self.closed: int | None = None

    async def open(self) -> bool:
        """Shake hands; whether the site agreed."""
        agreed, _ = await self.wire.connect(timeout=PATIENCE)
        return bool(agreed)

    async def send(self, method: str, **params: Any) -> None:
        text = json.dumps({"jsonrpc": "2.0", "method": f"live.{method}", "params": params})
        await self.wire.send_to(text_data=text)

    async def hello(self, run: str | None = None) -> None:
        self.run = run
        after = self.rows[-1] if self.rows else 0
        await self.send("hello", run=run, after=after, open=self.parts)

    async def take(self, timeout: float = PATIENCE, ack: bool = True) -> dict[str, Any] | None:
        """The next frame, or None when the socket was closed (then `closed` is set)."""
        message = await self.wire.receive_output(timeout=timeout)
        if message["type"] == "websocket.close":
            self.closed = message.get("code")
            return None
        frame: dict[str, Any] = json.loads(message["text"])
        self.frames += 1
        params = frame["params"]
        match frame["method"]:
            case "live.rows":
                self.rows += [row["seq"] for row in params["rows"]]
                self.types += [row["type"] for row in params["rows"]]
                if ack and params["rows"]:
                    await self.send("ack", seq=self.rows[-1])
            case "live.deltas":
                for item in params["items"]:
                    name = item["message"]
                    assert item["part"] == self.parts.get(name, 0) + 1
                    self.parts[name] = item["part"]
                    self.spoken[name] = self.spoken.get(name, "") + item["text"]
                if ack:
                    await self.send("ack", seq=self.rows[-1] if self.rows else 0)
            case "live.state":
                self.state = params["state"]
            case "live.inbox":
                self.inbox, self.overdue = params["count"], params["overdue"]
        return frame

    async def until(self, done: Any, timeout: float = PATIENCE, ack: bool = True) -> None:
        """Take frames until `done()`."""
        async with asyncio.timeout(timeout):
            while not done():
                if await self.take(timeout, ack) is None:
                    raise AssertionError(f"closed with {self.closed}")

    async def until_closed(self, timeout: float = PATIENCE, ack: bool = True) -> int | None:
        """Take frames until the site closes; the code."""
        async with asyncio.timeout(timeout):
            while await self.take(timeout, ack) is not None:
                pass
        return self.closed

    async def drop(self) -> None:
        """Break off."""
        await self.wire.disconnect()
