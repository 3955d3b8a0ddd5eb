"""A model that speaks as a benchmark wants it to, and browsers that only listen.

Used by `stream.py`. All ends lie on one machine and one clock.
"""

from __future__ import annotations

import asyncio
import http.cookiejar
import json
import socket
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from typing import Any

import psutil
import websockets

from tests.providers.raw_server import DONE, STREAM_HEAD, RawServer, call, event
from tests.worker.installation import Installation

MARK, RECITE = "Say marked words.", "Recite."
"""The objectives by which the model knows what to do."""


class Speaker:
    """An OpenAI-compatible server. First it says a marked word in each answer, then it recites."""

    def __init__(self, samples: int, rate: int, seconds: int) -> None:
        self.sent_at: dict[int, float] = {}
        """Milliseconds since the epoch at which each marked word was handed to the socket."""
        self.ready = threading.Event()
        """Set when everybody listens, and the recital may begin."""
        self.recital: list[float] = []
        """Monotonic seconds at which each word of the recital went out."""
        self._samples, self._words, self._pause = samples, rate * seconds, 1 / rate
        self._asked = 0
        self.server = RawServer(self._reply)
        self.server.start()

    def word(self, number: int) -> str:
        """One word of the recital."""
        return f"w{number:05} "

    @property
    def whole(self) -> str:
        """The recital."""
        return "".join(self.word(number) for number in range(self._words))

    def _reply(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        recites = f"Objective:\\n{RECITE}".encode() in self.server.requests[-1]
        action: dict[str, Any] = {"kind": "finish", "summary": "Said."}
        if recites:
            self._recite(connection)
        elif self._asked < self._samples:
            # Each reads another line, so that nothing looks like going round in circles.
            action = {"kind": "read_file", "path": "notes.txt", "offset": self._asked + 1}
            self._asked += 1
            self._mark(connection, self._asked - 1)
        else:
            connection.sendall(STREAM_HEAD)
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        end = call(json.dumps(action)) + event({}, "tool_calls") + event({}, usage=usage)
        connection.sendall(end + DONE)

    def _mark(self, connection: socket.socket, number: int) -> None:
        time.sleep(0.4)  # the page has drawn what came before
        connection.sendall(STREAM_HEAD)
        time.sleep(0.05)
        said = event({"content": f"mark-{number} "})
        self.sent_at[number] = time.time() * 1000
        connection.sendall(said)
        time.sleep(0.35)

    def _recite(self, connection: socket.socket) -> None:
        if not self.ready.wait(60):
            raise ConnectionResetError
        connection.sendall(STREAM_HEAD)
        began = time.monotonic()
        for number in range(self._words):
            time.sleep(max(0.0, began + number * self._pause - time.monotonic()))
            connection.sendall(event({"content": self.word(number)}))
            self.recital.append(time.monotonic())
        time.sleep(1)  # the last words are shown while the message is still open


@dataclass
class Listener:
    """One open page, as far as its socket goes."""

    run: str
    text: str = ""
    faults: list[str] = field(default_factory=list)
    parts: int = 0
    arrived: list[float] = field(default_factory=list)
    """Seconds from a word's leaving to its coming."""
    over: bool = False
    _last: int = 0
    _message: str = ""

    def take(self, frame: dict[str, Any], sent: list[float]) -> None:
        """One notification, checked as the page's own module checks it."""
        params = frame["params"]
        if frame["method"] == "live.rows":
            for row in params["rows"]:
                if row["seq"] != self._last + 1:
                    self.faults.append(f"row {row['seq']} after {self._last}")
                self._last = row["seq"]
                self.over = self.over or row["type"] == "message.completed"
        elif frame["method"] == "live.deltas":
            now = time.monotonic()
            for item in params["items"]:
                self._message = self._message or item["message"]
                if item["message"] != self._message or item["part"] != self.parts + 1:
                    self.faults.append(f"part {item['part']} after {self.parts}")
                self.parts = item["part"]
                self.text += item["text"]
            word = len(self.text) // 7 - 1
            if 0 <= word < len(sent):
                self.arrived.append(now - sent[word])

    async def listen(self, url: str, cookie: str, speaker: Speaker, joined: asyncio.Event) -> None:
        """Until the message is complete."""
        headers = {"Cookie": cookie}
        address = url.replace("http", "ws") + "/rpc"
        async with websockets.connect(
            address, additional_headers=headers, origin=websockets.Origin(url), max_size=None
        ) as wire:
            await wire.send(self._frame("hello", run=self.run, after=0, open={}))
            async for text in wire:
                frame = json.loads(text)
                self.take(frame, speaker.recital)
                if frame["method"] in ("live.rows", "live.deltas"):
                    joined.set()
                    await wire.send(self._frame("ack", seq=self._last))
                if self.over:
                    return

    def _frame(self, method: str, **params: Any) -> str:
        return json.dumps({"jsonrpc": "2.0", "method": f"live.{method}", "params": params})


def sign_in(site: Installation, name: str) -> str:
    """A new reviewer; the cookie of a session."""
    link = site.json("user", "add", name, "--role", "reviewer")["link"]
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    opener.open(f"{site.url}{link[link.index('/login/') :]}", timeout=20).close()
    return "; ".join(f"{one.name}={one.value}" for one in jar)


class Memory:
    """The workers' memory while they work: unshared bytes of the cluster's processes."""

    def __init__(self, site: Installation) -> None:
        self._cluster = site.child("cluster")
        self._samples: list[tuple[float, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.25):
            total = 0
            for process in [self._cluster, *self._cluster.children(recursive=True)]:
                try:
                    total += process.memory_full_info().uss
                except psutil.Error:
                    continue
            self._samples.append((time.monotonic(), total))

    def growth(self, begin: float, end: float) -> float:
        """MiB from the highest in the first fifth to the highest in the last fifth of a time."""
        fifth = (end - begin) / 5
        first = [size for at, size in self._samples if begin <= at <= begin + fifth]
        last = [size for at, size in self._samples if end - fifth <= at <= end]
        return (max(last) - max(first)) / (1 << 20)
