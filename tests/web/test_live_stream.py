"""The stream: every row once and in order, whatever happens to the connection."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections

from runtime.journal import hub, look, read
from runtime.journal.rows import EventRow
from runtime.live import frames
from runtime.models import Run, User
from tests.clock import TRIES
from tests.web.live_kit import (
    PATIENCE,
    Browser,
    arrives,
    elsewhere,
    live,
    log_of,
    make_run,
    person,
    say,
    session_for,
)

__all__ = ["live"]

pytestmark = pytest.mark.asyncio


def a_run() -> tuple[User, str, str]:
    alice = person("alice", "submitter")
    return alice, make_run(alice), session_for(alice)


def write(run: str, total: int, at_once: int, pause: float) -> None:
    """A worker in a thread of its own."""
    for _ in range(total // at_once):
        say(run, at_once)
        time.sleep(pause)


async def comes(condition: Callable[[], bool]) -> None:
    """Wait for what needs no frame."""
    for _ in range(int(PATIENCE / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    assert condition()


@pytest.mark.thorough
async def test_F46_twenty_drops_in_two_thousand_events_lose_and_double_nothing(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIVE_HELLO_SECONDS", 0.0, raising=False)
    _, run, key = await sync_to_async(a_run)()
    writer = asyncio.create_task(elsewhere(write, run, 2000, 5, 0.003))
    page = Browser(key)
    dice = random.Random(46)
    for _ in range(20):
        assert await page.open()
        await page.hello(run)
        goal = len(page.rows) + dice.randint(1, 90)
        await page.until(lambda goal=goal: len(page.rows) >= goal)
        await page.drop()
        page.reconnect(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: len(page.rows) == 2001, timeout=30)
    await writer
    await page.drop()
    assert page.rows == await sync_to_async(log_of)(run) == list(range(1, 2002))


async def test_a_row_arrives_without_a_second_of_waiting(live: Path) -> None:
    _, run, key = await sync_to_async(a_run)()
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.rows == [1])
    await arrives(page, run, seconds=0.05)
    await page.drop()


async def test_without_a_socket_for_hints_the_database_is_polled(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = live / ("x" * 100)
    monkeypatch.setattr("runtime.journal.hint.folder", lambda: deep)
    _, run, key = await sync_to_async(a_run)()
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.rows == [1])
    assert hub.here(frames.dress).polls
    took = []
    for number in range(2, 9):
        start = time.perf_counter()
        await sync_to_async(say)(run)
        await page.until(lambda number=number: page.rows[-1] == number)
        took.append(time.perf_counter() - start)
    assert statistics.median(took) < 0.5
    await page.drop()


async def test_many_browsers_get_each_row_once_and_the_database_is_read_once_for_all(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIVE_SOCKETS", 30, raising=False)
    _, run, key = await sync_to_async(a_run)()
    pages = [Browser(key) for _ in range(20)]
    for page in pages:
        assert await page.open()
        await page.hello(run)
    await asyncio.gather(*(page.until(lambda page=page: page.rows == [1]) for page in pages))
    before, start = hub.here(frames.dress).looks, time.perf_counter()
    await elsewhere(write, run, 400, 4, 0.002)
    await asyncio.gather(*(page.until(lambda page=page: len(page.rows) == 401) for page in pages))
    looks = hub.here(frames.dress).looks - before
    batches = 20 + (time.perf_counter() - start) / hub.TOGETHER_SECONDS
    assert looks <= batches
    for page in pages:
        assert page.rows == list(range(1, 402))
        assert page.frames <= batches
        await page.drop()


async def test_who_is_past_the_ring_is_served_from_the_table(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "RING_ROWS", 50)
    monkeypatch.setattr(look, "FIRST_ROWS", 20)
    _, run, key = await sync_to_async(a_run)()
    await sync_to_async(say)(run, 600)
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: len(page.rows) == 601)
    await sync_to_async(say)(run, 700)
    await page.until(lambda: len(page.rows) == 1301)
    assert page.rows == list(range(1, 1302))
    await page.drop()


async def test_at_most_two_hundred_rows_are_out_and_a_page_that_stops_reading_is_closed(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIVE_STALL_SECONDS", 0.6, raising=False)
    _, run, key = await sync_to_async(a_run)()
    await sync_to_async(say)(run, 1000)
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    start = time.perf_counter()
    assert await page.until_closed(ack=False) == 4408
    assert time.perf_counter() - start > 0.5
    assert page.rows == list(range(1, 201))
    monkeypatch.setattr(settings, "LIVE_STALL_SECONDS", 60.0, raising=False)
    page.reconnect(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: len(page.rows) == 1001)
    assert page.rows == list(range(1, 1002))
    await page.drop()


async def test_large_rows_go_in_small_frames_and_few_at_a_time(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIVE_STALL_SECONDS", 0.4, raising=False)
    monkeypatch.setattr(settings, "LIVE_ROWS_BYTES", 20_000, raising=False)
    monkeypatch.setattr(settings, "LIVE_WINDOW_BYTES", 60_000, raising=False)
    _, run, key = await sync_to_async(a_run)()
    await sync_to_async(say)(run, 100, "x" * 3500)
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    assert await page.until_closed(ack=False) == 4408
    assert 60_000 / 4500 < len(page.rows) <= 80_000 / 3500
    monkeypatch.setattr(settings, "LIVE_STALL_SECONDS", 60.0, raising=False)
    page.reconnect(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: len(page.rows) == 101)
    assert page.rows == list(range(1, 102))
    await page.drop()


async def test_a_page_that_has_everything_is_not_closed_for_its_silence(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIVE_STALL_SECONDS", 0.2, raising=False)
    monkeypatch.setattr(settings, "LIVE_BEAT_SECONDS", 0.3, raising=False)
    _, run, key = await sync_to_async(a_run)()
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.rows == [1], ack=False)
    beats = 0
    while beats < 3:
        frame = await page.take(ack=False)
        assert frame is not None
        beats += frame["method"] == "live.alive"
    await page.drop()


async def test_a_page_ahead_of_the_journal_is_told_so(live: Path) -> None:
    _, run, key = await sync_to_async(a_run)()
    page = Browser(key)
    page.rows = [7]
    assert await page.open()
    await page.hello(run)
    assert await page.until_closed() == 4409


async def test_a_change_of_state_is_told_without_an_event(live: Path) -> None:
    _, run, key = await sync_to_async(a_run)()
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.state == "running")
    await sync_to_async(Run.objects.filter(pk=run).update)(state="waiting")
    await page.until(lambda: page.state == "waiting")
    await page.drop()


@pytest.mark.thorough
async def test_a_hub_without_news_asks_little_and_without_browsers_nothing(
    live: Path,
) -> None:
    _, run, key = await sync_to_async(a_run)()
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.rows == [1])
    reader = hub.here(frames.dress)
    for _ in range(TRIES):
        await asyncio.sleep(0.5)
        looks, cpu = reader.looks, time.process_time()
        await asyncio.sleep(2)
        asked, spent = reader.looks - looks, time.process_time() - cpu
        if asked <= 3 and spent < 0.1:
            break
    assert asked <= 3 and spent < 0.1, (asked, spent)
    await page.drop()
    for _ in range(TRIES):  # its last look may be on its way still
        await asyncio.sleep(1.2)
        looks = reader.looks
        await sync_to_async(say)(run)
        await asyncio.sleep(1.2)
        if reader.looks == looks:
            break
    assert reader.looks == looks


async def test_a_socket_that_ends_gives_everything_back(live: Path) -> None:
    _, run, key = await sync_to_async(a_run)()
    tasks = len(asyncio.all_tasks())
    for _ in range(30):
        page = Browser(key)
        assert await page.open()
        await page.hello(run)
        await page.until(lambda page=page: page.rows == [1])
        await page.drop()
    most = tasks + 1  # the hub's own
    await comes(lambda: len(asyncio.all_tasks()) <= most and not hub.here(frames.dress).watched)


@pytest.mark.thorough
async def test_a_database_that_cannot_be_read_closes_the_stream_instead_of_showing_old_state(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run, key = await sync_to_async(a_run)()
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.rows == [1])
    reader = hub.here(frames.dress)
    await reader.call(connections.close_all)
    (live / "m31a.sqlite3").rename(live / "away")
    (live / "m31a.sqlite3").mkdir()
    assert await page.until_closed() == 4503
    (live / "m31a.sqlite3").rmdir()
    (live / "away").rename(live / "m31a.sqlite3")
    await comes(lambda: not reader.broken)
    page.reconnect(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.state == "running")
    await page.drop()


async def test_a_damaged_record_is_named_and_does_not_stop_the_stream(live: Path) -> None:
    user, run, key = await sync_to_async(a_run)()
    other = await sync_to_async(make_run)(user)

    def damage() -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute("DROP TRIGGER m31a_event_update")
            cursor.execute("UPDATE runtime_event SET payload = 'no json' WHERE run = %s", [run])

    await elsewhere(damage)
    broken = Browser(key)
    assert await broken.open()
    await broken.hello(run)
    frame = None
    while frame is None or frame["method"] != "live.rows":
        frame = await broken.take()
    assert "no json" in frame["params"]["rows"][0]["html"]
    await broken.drop()
    page = Browser(key)
    assert await page.open()
    await page.hello(other)
    await page.until(lambda: page.rows == [1])
    await page.drop()


async def test_rows_carry_fragment_and_facts(live: Path) -> None:
    _, run, key = await sync_to_async(a_run)()
    await sync_to_async(say)(run, 1, "<b>hi</b>", message="m1")
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    frame = None
    while frame is None or frame["method"] != "live.rows":
        frame = await page.take()
    row = frame["params"]["rows"][-1]
    stored = (await sync_to_async(read.last)(run, 1))[0]
    assert (row["seq"], row["type"], row["message"]) == (2, stored.type, "m1")
    assert 'data-seq="2"' in row["html"] and "<b>hi</b>" not in row["html"]
    assert frame["params"]["head"] == 2 and frame["params"]["run"] == run
    await page.drop()


async def test_a_row_that_cannot_be_drawn_does_not_stop_the_rows_after_it(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = frames.events.render

    def picky(row: EventRow) -> str:
        if row.seq == 2:
            raise ValueError("a renderer's mistake")
        return str(whole(row))

    monkeypatch.setattr(frames.events, "render", picky)
    _, run, key = await sync_to_async(a_run)()
    await sync_to_async(say)(run, 3)
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.rows == [1, 2, 3, 4])
    await page.drop()
