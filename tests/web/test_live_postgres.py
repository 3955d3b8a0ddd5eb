"""The same stream on PostgreSQL: hints by NOTIFY, heard by one connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.db import connection, connections

from runtime.journal import deltas, hub
from runtime.live import frames
from runtime.models import User
from tests.databases import Template
from tests.web.live_kit import Browser, arrives, elsewhere, make_run, person, say, session_for

pytestmark = [pytest.mark.asyncio, pytest.mark.postgres]


@pytest_asyncio.fixture
async def postgres(
    sqlite_template: Template, postgres_template: Template, django_db_blocker: Any
) -> AsyncIterator[None]:
    with django_db_blocker.unblock():
        await sync_to_async(postgres_template.renew)()
        yield
        await hub.close_here()
        await sync_to_async(connections.close_all)()
        await sync_to_async(sqlite_template.renew)()
        await sync_to_async(connections.close_all)()


def a_run() -> tuple[User, str, str]:
    alice = person("alice", "submitter")
    return alice, make_run(alice), session_for(alice)


def ask(statement: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
LISTENERS = "SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN m31a'"
HANG_UP = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN m31a'"


@pytest.mark.thorough
async def test_rows_and_speech_arrive_by_notify_and_sockets_leave_no_connection(
    postgres: None,
) -> None:
    _, run, key = await sync_to_async(a_run)()
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.rows == [1])
    await arrives(page, run, seconds=0.1)

    def speak() -> None:
        with deltas.DeltaWriter(run, "t", "spoken") as writer:
            for _ in range(50):
                writer.add("word ")
                time.sleep(0.004)

    await elsewhere(speak)
    await page.until(lambda: page.spoken.get("spoken") == "word " * 50)
    await elsewhere(deltas.remove, run, "spoken")
    assert (await sync_to_async(deltas.parts)([run])) == {run: {}}

    await asyncio.sleep(1)  # the server notices an ended connection a moment later
    before = await sync_to_async(ask)(CONNECTIONS)
    for _ in range(30):
        other = Browser(key)
        assert await other.open()
        await other.hello(run)
        await other.until(lambda other=other: other.rows == page.rows)
        await other.drop()
    for _ in range(300):
        if await sync_to_async(ask)(CONNECTIONS) <= before:
            break
        await asyncio.sleep(0.1)
    assert await sync_to_async(ask)(CONNECTIONS) <= before
    await page.drop()


@pytest.mark.thorough
async def test_a_lost_listener_costs_a_second_and_comes_back(
    postgres: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "REOPEN_SECONDS", 0.5)
    _, run, key = await sync_to_async(a_run)()
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.rows == [1])
    reader = hub.here(frames.dress)
    assert reader.hears
    lost = await sync_to_async(ask)(LISTENERS)
    assert await sync_to_async(ask)(HANG_UP) == [(True,)]
    await sync_to_async(say)(run)
    await page.until(lambda: page.rows == [1, 2])
    for _ in range(200):
        if reader.hears and await sync_to_async(ask)(LISTENERS) not in ([], lost):
            break
        await asyncio.sleep(0.1)
    assert reader.hears and await sync_to_async(ask)(LISTENERS) not in ([], lost)
    await sync_to_async(say)(run)
    await page.until(lambda: page.rows == [1, 2, 3])
    await page.drop()
