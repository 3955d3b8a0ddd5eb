"""Who gets a socket, and how long: origin, session, right, number of sockets."""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings

from runtime.models import Run, User
from tests.web.live_kit import (
    HOST,
    Browser,
    live,
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


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "https://evil.example",
        "http://127.0.0.1:1",
        f"http://{HOST}.evil.example",
    ],
)
async def test_a_page_of_another_site_or_of_none_gets_no_socket(
    live: Path, origin: str | None
) -> None:
    _, _, key = await sync_to_async(a_run)()
    browser = Browser(key, origin=origin)
    assert not await browser.open()


@pytest.mark.parametrize("key", [None, "x" * 32])
async def test_who_is_not_signed_in_gets_no_socket(live: Path, key: str | None) -> None:
    assert not await Browser(key).open()


async def test_another_address_is_refused(live: Path) -> None:
    _, _, key = await sync_to_async(a_run)()
    assert not await Browser(key, path="/elsewhere").open()


async def test_the_own_run_is_shown_and_the_run_of_another_looks_as_if_it_were_not_there(
    live: Path,
) -> None:
    _, run, key = await sync_to_async(a_run)()
    mine = Browser(key)
    assert await mine.open()
    await mine.hello(run)
    await mine.until(lambda: mine.rows == [1] and mine.state == "running")
    await mine.drop()

    mallory = await sync_to_async(person)("mallory")
    other = Browser(await sync_to_async(session_for)(mallory))
    codes = []
    for wanted in (run, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "system"):
        other = Browser(await sync_to_async(session_for)(mallory))
        assert await other.open()
        await other.hello(wanted)
        codes.append(await other.until_closed())
        assert other.rows == [] and other.state == ""
    assert codes == [4404, 4404, 4404]


async def test_an_auditor_sees_the_runs_of_others(live: Path) -> None:
    _, run, _ = await sync_to_async(a_run)()
    bob = await sync_to_async(person)("bob", "auditor")
    browser = Browser(await sync_to_async(session_for)(bob))
    assert await browser.open()
    await browser.hello(run)
    await browser.until(lambda: browser.rows == [1])
    await browser.drop()


def end_session(user: User, key: str, run: str) -> None:
    import_module(settings.SESSION_ENGINE).SessionStore(key).delete()


def change_password(user: User, key: str, run: str) -> None:
    user.set_password("another one")
    user.save()


def make_inactive(user: User, key: str, run: str) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def give_run_away(user: User, key: str, run: str) -> None:
    Run.objects.filter(pk=run).update(submitted_by="bob")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (end_session, 4401),
        (change_password, 4401),
        (make_inactive, 4401),
        (give_run_away, 4404),
    ],
)
async def test_a_socket_ends_with_its_session_and_with_its_right(
    live: Path, monkeypatch: pytest.MonkeyPatch, change: Any, code: int
) -> None:
    monkeypatch.setattr(settings, "LIVE_RECHECK_SECONDS", 0.2, raising=False)
    user, run, key = await sync_to_async(a_run)()
    browser = Browser(key)
    assert await browser.open()
    await browser.hello(run)
    await browser.until(lambda: browser.rows == [1])
    await asyncio.sleep(0.5)
    await sync_to_async(change)(user, key, run)
    assert await browser.until_closed() == code


async def test_a_right_is_asked_again_at_every_hello(live: Path) -> None:
    user, run, key = await sync_to_async(a_run)()
    browser = Browser(key)
    assert await browser.open()
    await browser.hello(run)
    await browser.until(lambda: browser.rows == [1])
    await sync_to_async(give_run_away)(user, key, run)
    await sync_to_async(say)(run)
    await browser.until(lambda: browser.rows == [1, 2])
    await browser.hello(run)
    assert await browser.until_closed() == 4404


async def test_a_person_has_at_most_ten_sockets(live: Path) -> None:
    _, run, key = await sync_to_async(a_run)()
    crowd = [Browser(key) for _ in range(11)]
    for browser in crowd:
        assert await browser.open()
    assert await crowd[10].until_closed() == 4429
    await crowd[0].drop()
    again = Browser(key)
    assert await again.open()
    await again.hello(run)
    await again.until(lambda: again.rows == [1])
    for browser in [*crowd[1:10], again]:
        await browser.drop()


@pytest.mark.parametrize(
    "frame",
    [
        "no json",
        "[]",
        '{"jsonrpc":"2.0","method":"live.approve","params":{"approval":"x"}}',
        '{"jsonrpc":"2.0","method":"live.ack","params":{"seq":99}}',
        '{"jsonrpc":"2.0","method":"live.ack","params":{"seq":true}}',
        '{"jsonrpc":"2.0","method":"live.hello","params":{"run":"x","after":-1}}',
        '{"jsonrpc":"2.0","method":"live.ack","params":{"seq":1},"pad":"' + "x" * 4096 + '"}',
        b"\x00\x01",
    ],
)
async def test_a_frame_that_is_no_hello_and_no_ack_ends_the_socket(
    live: Path, frame: str | bytes
) -> None:
    _, run, key = await sync_to_async(a_run)()
    browser = Browser(key)
    assert await browser.open()
    await browser.hello(run)
    await browser.until(lambda: browser.rows == [1])
    if isinstance(frame, bytes):
        await browser.wire.send_to(bytes_data=frame)
    else:
        await browser.wire.send_to(text_data=frame)
    assert await browser.until_closed() == 4400
