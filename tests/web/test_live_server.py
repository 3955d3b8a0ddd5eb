"""The stream through a real Daphne: frames on the wire, and a browser that stops reading."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import time
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from runtime.models import User
from tests.web.live_kit import live, make_run, person, say, session_for
from tests.web.live_server import Server, serving

__all__ = ["live"]


def a_run() -> tuple[User, str, str]:
    alice = person("alice", "submitter")
    return alice, make_run(alice), session_for(alice)


def hello(run: str) -> str:
    params = {"run": run, "after": 0, "open": {}}
    return json.dumps({"jsonrpc": "2.0", "method": "live.hello", "params": params})


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
            waits = []
            seen = 0
            for number in range(1, 40):
                start = time.perf_counter()
                while seen < number:
                    frame = json.loads(await asyncio.wait_for(page.recv(), 5))
                    if frame["method"] == "live.rows":
                        seen = frame["params"]["rows"][-1]["seq"]
                waits.append(time.perf_counter() - start)
                await sync_to_async(say)(run)
        assert sorted(waits[1:])[19] < 0.05, waits


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


@pytest.mark.thorough
def test_a_browser_that_stops_reading_does_not_grow_the_server(site: None) -> None:
    _, run, key = a_run()
    with serving(stall_seconds=3) as server:
        # First to the end of the ring, so that what is measured is the browser alone.
        wire = stalled_socket(server, key, run)
        say(run, 2200, "x" * 900)
        time.sleep(1)
        before = server.process.memory_info().rss
        for _ in range(5):
            say(run, 2000, "x" * 900)
        time.sleep(1)
        grown = server.process.memory_info().rss - before
        assert grown < 5 << 20, f"{grown / (1 << 20):.1f} MiB"
        deadline = time.monotonic() + 8
        while server.process.net_connections() and time.monotonic() < deadline:
            if not [c for c in server.process.net_connections() if c.status == "ESTABLISHED"]:
                break
            time.sleep(0.1)
        assert not [c for c in server.process.net_connections() if c.status == "ESTABLISHED"]
        wire.close()
