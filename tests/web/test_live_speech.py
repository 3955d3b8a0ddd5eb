"""What a model is saying: written in parts, streamed in order, gone after its message."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections, transaction

from runtime.journal import deltas, hint
from runtime.journal.append import new_id
from runtime.models import Approval, Delta, User
from tests.clock import Late, best_of_three, under
from tests.web.live_kit import (
    Browser,
    ask,
    elsewhere,
    live,
    make_run,
    person,
    say,
    session_for,
)

__all__ = ["live"]

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
NO_BEAT = 600.0
"""Between signs of life, where silence is what a test listens for."""


def stored(run: str, message: str) -> str:
    return "".join(text for name, _, text in deltas.read(run, {}) if name == message)


def soon_stored(message: str) -> str:
    """What is stored of a message as soon as anything is."""
    deadline = time.monotonic() + 20
    while not (text := stored(RUN, message)) and time.monotonic() < deadline:
        time.sleep(0.005)
    return text


def a_run() -> tuple[User, str, str]:
    alice = person("alice", "submitter")
    return alice, make_run(alice), session_for(alice)


def test_pieces_are_joined_for_fifty_milliseconds_and_numbered_from_one(
    site: None,
) -> None:
    @best_of_three
    def joined() -> None:
        message = new_id()
        began = time.monotonic()
        with deltas.DeltaWriter(RUN, "t", message) as writer:
            for number in range(100):
                writer.add(f"{number} ")
                time.sleep(0.002)
            writer.flush()
            took = time.monotonic() - began
            assert stored(RUN, message) == "".join(f"{number} " for number in range(100))
        rows = Delta.objects.filter(message=message).order_by("id")
        parts = list(rows.values_list("part", flat=True))
        assert parts == list(range(1, len(parts) + 1))
        assert len(parts) <= took / deltas.JOIN_SECONDS + 2
        if len(parts) < 3:
            raise Late(f"{took:.2f} s of text were written in {len(parts)} parts")

    joined()


def test_two_kilobytes_do_not_wait(site: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "JOIN_SECONDS", 30)
    with deltas.DeltaWriter(RUN, "t", "m") as writer:
        writer.add("x" * 2048)
        assert soon_stored("m") == "x" * 2048


def test_a_tail_is_written_though_nothing_follows(site: None) -> None:
    with deltas.DeltaWriter(RUN, "t", "m") as writer:
        writer.add("tail")
        assert soon_stored("m") == "tail"


def test_a_mebibyte_is_the_most_and_the_end_is_marked(site: None) -> None:
    with deltas.DeltaWriter(RUN, "t", "m") as writer:
        for _ in range(300):
            writer.add("é" * 2048)
    text = stored(RUN, "m")
    assert text == "é" * (deltas.MOST_BYTES // 2) + deltas.CUT


def test_characters_that_no_column_takes_are_replaced(site: None) -> None:
    with deltas.DeltaWriter(RUN, "t", "m") as writer:
        writer.add("a\0b\ud800c")
    assert stored(RUN, "m") == "a\ufffdb?c"


def test_several_threads_and_writers_and_a_busy_journal_lose_no_piece(
    site: None,
) -> None:
    alice = person("alice")
    run = make_run(alice)
    writers = [deltas.DeltaWriter(run, "t", f"m{number}") for number in range(4)]
    stop = threading.Event()

    def journal() -> None:
        while not stop.is_set():
            say(run, 3)
        connections.close_all()

    def speak(writer: deltas.DeltaWriter) -> None:
        for _ in range(200):
            writer.add("word ")
            time.sleep(0.001)

    busy = threading.Thread(target=journal)
    busy.start()
    threads = [threading.Thread(target=speak, args=[w]) for w in writers for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for writer in writers:
        writer.close()
    stop.set()
    busy.join()
    assert [stored(run, f"m{number}") for number in range(4)] == ["word " * 400] * 4


def test_a_write_that_fails_ends_the_preview_and_nothing_else(
    site: None, caplog: pytest.LogCaptureFixture
) -> None:
    Delta.objects.create(run=RUN, task="t", message="m", part=1, text="taken")
    writer = deltas.DeltaWriter(RUN, "t", "m")
    writer.add("one")
    writer.flush()
    writer.add("two")
    writer.close()
    assert stored(RUN, "m") == "taken"
    assert "ends early" in caplog.text


def _speak_and_exit(message: str) -> None:
    with deltas.DeltaWriter(RUN, "t", message) as writer:
        writer.add("from the child")


def test_a_forked_worker_does_not_use_its_parents_connection(site: None) -> None:
    with deltas.DeltaWriter(RUN, "t", "m") as writer:
        writer.add("from the parent")
    child = multiprocessing.get_context("fork").Process(target=_speak_and_exit, args=["n"])
    child.start()
    child.join(40)
    assert child.exitcode == 0
    assert (stored(RUN, "m"), stored(RUN, "n")) == ("from the parent", "from the child")


def test_removal_takes_the_message_or_all_of_a_task(site: None) -> None:
    for task, message in (("t", "m"), ("t", "n"), ("u", "o"), ("u", "p")):
        with deltas.DeltaWriter(RUN, task, message) as writer:
            writer.add("x")
    deltas.remove(RUN, "m")
    assert deltas.parts([RUN]) == {RUN: {"n": 1, "o": 1, "p": 1}}
    deltas.remove(RUN, task="u")
    assert deltas.parts([RUN]) == {RUN: {"n": 1}}
    deltas.remove(RUN)
    assert deltas.parts([RUN]) == {RUN: {}}


def test_a_preview_costs_little(site: None) -> None:
    with deltas.DeltaWriter(RUN, "t", "warm") as writer:
        writer.add("x")

    @best_of_three
    def fifty() -> None:
        began = time.monotonic()
        for number in range(50):
            with deltas.DeltaWriter(RUN, "t", f"m{number}") as writer:
                writer.add("x")
            deltas.remove(RUN, f"m{number}")
        said = time.monotonic()
        for number in range(50):
            Delta.objects.create(run=RUN, task="t", message=f"m{number}", part=1, text="x")
            Delta.objects.filter(message=f"m{number}").delete()
        bare = time.monotonic() - said
        under(said - began, max(50 * 0.01, 5 * bare))  # a slow machine writes slowly

    fifty()


@pytest.mark.asyncio
async def test_F47_a_reconnect_in_the_middle_of_a_text_yields_the_stored_text(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIVE_HELLO_SECONDS", 0.0, raising=False)
    monkeypatch.setattr(settings, "LIVE_BEAT_SECONDS", NO_BEAT, raising=False)
    _, run, key = await sync_to_async(a_run)()
    words: list[str] = []
    enough = threading.Event()

    def speak() -> None:
        with deltas.DeltaWriter(run, "t", "m") as writer:
            while not enough.wait(0.004):
                words.append(f"word{len(words)} ")
                writer.add(words[-1])

    speaker = asyncio.create_task(elsewhere(speak))
    page = Browser(key)
    try:
        for _ in range(6):
            assert await page.open()
            await page.hello(run)
            goal = page.parts.get("m", 0) + 3
            await page.until(lambda goal=goal: page.parts.get("m", 0) >= goal)
            await page.drop()
            page.reconnect(key)
    finally:
        enough.set()
        await speaker
    assert page.rows == [1] and page.types == ["run.submitted"]
    assert await page.open()
    await page.hello(run)
    whole = "".join(words)
    await page.until(lambda: len(page.spoken["m"]) >= len(whole))
    assert page.spoken["m"] == whole == await sync_to_async(stored)(run, "m")

    await sync_to_async(say)(run, 1, whole, message="m")
    await page.until(lambda: page.rows == [1, 2])
    await elsewhere(deltas.remove, run, "m")
    late = Browser(key)
    assert await late.open()
    await late.hello(run)
    await late.until(lambda: late.rows == [1, 2])
    await asyncio.sleep(0.2)
    assert late.spoken == {} and await late.wire.receive_nothing(0.2)
    await page.drop()
    await late.drop()


@pytest.mark.asyncio
async def test_a_text_whose_message_is_complete_is_not_said_again(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIVE_BEAT_SECONDS", NO_BEAT, raising=False)
    _, run, key = await sync_to_async(a_run)()

    def speak() -> None:
        with deltas.DeltaWriter(run, "t", "m") as writer:
            writer.add("left behind by a crash")
        say(run, 1, "left behind by a crash", message="m")

    await elsewhere(speak)
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: page.rows == [1, 2])
    assert await page.wire.receive_nothing(0.3)
    assert page.spoken == {}
    await page.drop()


@pytest.mark.asyncio
async def test_speech_too_waits_for_a_page_that_does_not_acknowledge(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIVE_STALL_SECONDS", 0.5, raising=False)
    _, run, key = await sync_to_async(a_run)()

    def speak() -> None:
        with deltas.DeltaWriter(run, "t", "m") as writer:
            for _ in range(200):
                writer.add("x" * 2048)

    await elsewhere(speak)
    page = Browser(key)
    assert await page.open()
    await page.hello(run)
    assert await page.until_closed(ack=False) == 4408
    assert len(page.spoken["m"]) <= 65536 + 4096 * 2
    monkeypatch.setattr(settings, "LIVE_STALL_SECONDS", 60.0, raising=False)
    page.reconnect(key)
    assert await page.open()
    await page.hello(run)
    await page.until(lambda: len(page.spoken["m"]) == 200 * 2048)
    await page.drop()


@pytest.mark.thorough
@pytest.mark.asyncio
async def test_every_page_is_told_how_many_questions_wait_for_its_reader(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIVE_BEAT_SECONDS", NO_BEAT, raising=False)
    _, run, key = await sync_to_async(a_run)()
    bob = await sync_to_async(person)("bob", "reviewer")
    mallory = await sync_to_async(person)("mallory")
    pages = [Browser(key)]
    for user in (bob, mallory):
        pages.append(Browser(await sync_to_async(session_for)(user)))
    for page in pages:
        assert await page.open()
        await page.hello()
        await page.until(lambda page=page: page.inbox == 0)
    await sync_to_async(ask)(run)
    await pages[0].until(lambda: pages[0].inbox == 1)
    await pages[1].until(lambda: pages[1].inbox == 1)
    second = await sync_to_async(ask)(run)
    await pages[1].until(lambda: pages[1].inbox == 2)
    assert pages[1].overdue == 0
    await sync_to_async(Approval.objects.filter(pk=second.pk).update)(reminded=1)
    await pages[1].until(lambda: pages[1].overdue == 1)
    assert pages[1].inbox == 2
    await sync_to_async(Approval.objects.filter(pk=second.pk).update)(state="denied")
    await pages[1].until(lambda: (pages[1].inbox, pages[1].overdue) == (1, 0))
    assert await pages[2].wire.receive_nothing(0.2) and pages[2].inbox == 0
    for page in pages:
        await page.drop()


@pytest.mark.asyncio
async def test_a_question_that_takes_the_place_of_another_is_told_too(live: Path) -> None:
    _, run, key = await sync_to_async(a_run)()
    first = await sync_to_async(ask)(run)
    page = Browser(key)
    assert await page.open()
    await page.hello()
    await page.until(lambda: page.inbox == 1)

    def exchange() -> None:
        with transaction.atomic():
            Approval.objects.filter(pk=first.pk).update(state="denied")
            ask(run)
        hint.wake(run)

    page.inbox = None
    await sync_to_async(exchange)()
    await page.until(lambda: page.inbox == 1)
    await page.drop()
