"""The stream through a real Daphne: frames on the wire, and a browser that stops reading."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync import client

from runtime.live.consumer import AHEAD
from runtime.models import User
from tests.clock import TRIES
from tests.web.live_kit import PATIENCE, live, make_run, person, say, session_for
from tests.web.live_server import Server, serving

__all__ = ["live"]


def a_run() -> tuple[User, str, str]:
    alice = person("alice", "submitter")
    return alice, make_run(alice), session_for(alice)


def hello(run: str, after: int = 0) -> str:
    params = {"run": run, "after": after, "open": {}}
    return json.dumps({"jsonrpc": "2.0", "method": "live.hello", "params": params})


async def row(page: ClientConnection, number: int) -> None:
    """Take frames up to this row."""
    seen = 0
    while seen < number:
        frame = json.loads(await asyncio.wait_for(page.recv(), PATIENCE))
        if frame["method"] == "live.rows":
            seen = frame["params"]["rows"][-1]["seq"]


@pytest.mark.asyncio
async def test_rows_pass_daphne_and_foreign_origins_do_not(live: Path) -> None:
    _, run, key = await sync_to_async(a_run)()
    with serving() as server:
        cookie = {"Cookie": f"sessionid={key}"}
        address = f"ws://{server.host}/rpc"
        for origin in (None, "http://127.0.0.1:1", "https://evil.example"):
            with pytest.raises(InvalidStatus) as refused:
                await connect(address, origin=origin, additional_headers=cookie)
            assert refused.value.response.status_code == 403
        with pytest.raises(InvalidStatus):
            await connect(address, origin=server.url)
        async with connect(address, origin=server.url, additional_headers=cookie) as page:
            await page.send(hello(run))
            await row(page, 1)
            seen = 1
            for _ in range(TRIES):
                waits = []
                for number in range(seen + 1, seen + 12):
                    await sync_to_async(say)(run)
                    start = time.perf_counter()
                    await row(page, number)
                    waits.append(time.perf_counter() - start)
                seen += 11
                if statistics.median(waits) < 0.05:
                    break
        assert statistics.median(waits) < 0.05, waits


def stalled_socket(server: Server, key: str, run: str) -> socket.socket:
    """A browser that shakes hands, says hello and never reads again."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.connect(("127.0.0.1", server.port))
    nonce = base64.b64encode(os.urandom(16)).decode()
    wire.sendall(
        f"GET /rpc HTTP/1.1\r\nHost: {server.host}\r\nOrigin: {server.url}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {nonce}\r\nSec-WebSocket-Version: 13\r\n"
        f"Cookie: sessionid={key}\r\n\r\n".encode()
    )
    assert b" 101 " in wire.recv(512)
    body = hello(run).encode()
    mask = os.urandom(4)
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(body))
    wire.sendall(bytes([0x81, 0x80 | len(body)]) + mask + masked)
    return wire


def has_read(server: Server, key: str, run: str, number: int) -> bool:
    """Whether the server knows this row: a page that claims to hold it is then not ahead."""
    cookie = {"Cookie": f"sessionid={key}"}
    address = f"ws://{server.host}/rpc"
    with client.connect(address, origin=server.url, additional_headers=cookie) as page:
        page.send(hello(run, after=number))
        try:
            page.recv(timeout=PATIENCE)
        except ConnectionClosed as closed:
            assert closed.rcvd is not None and closed.rcvd.code == AHEAD
            return False
        return True


def comes(condition: Callable[[], bool]) -> bool:
    """Whether it holds, at the latest when patience ends."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


@pytest.mark.thorough
def test_a_browser_that_stops_reading_does_not_grow_the_server(site: None) -> None:
    _, run, key = a_run()
    with serving(stall_seconds=8) as server, stalled_socket(server, key, run):
        # First to the end of the ring, so that what is measured is the browser alone.
        say(run, 2200, "x" * 900)
        assert comes(lambda: has_read(server, key, run, 2201))
        before = server.process.memory_info().rss
        grown = []
        for written in range(2201 + 2000, 2201 + 12000, 2000):
            say(run, 2000, "x" * 900)
            assert comes(lambda written=written: has_read(server, key, run, written))
            grown.append(server.process.memory_info().rss - before)
        # Garbage comes and goes; what is kept would be there at each of the last looks.
        kept = min(grown[-3:])
        assert kept < 5 << 20, f"{kept / (1 << 20):.1f} MiB"
        assert comes(
            lambda: all(c.status != "ESTABLISHED" for c in server.process.net_connections())
        )
