"""A raw HTTP server on loopback that answers exactly the bytes a test writes, and a way to ask."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from runtime.providers import Answer, Message, Prompt, Provider, load

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
PROMPT = Prompt("Be brief.", (Message("user", "Mend the test."),))
KEY = "sk-test-51f2c0ffee"


def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """One server-sent event of a chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    value = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "raw-1"}
    return b"data: " + json.dumps({**value, "choices": [choice], **more}).encode() + b"\n\n"


def call(arguments: str, name: str = "act", index: int = 0) -> bytes:
    """One whole tool call in one event."""
    function = {"name": name, "arguments": arguments}
    tool_call = {"index": index, "id": f"c{index}", "type": "function", "function": function}
    return event({"tool_calls": [tool_call]})


DONE = b"data: [DONE]\n\n"


@dataclass
class RawServer:
    """Reads one request per connection, then lets the test's `reply` write to the socket."""

    reply: Callable[[socket.socket], None]
    requests: list[bytes] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    """Set when the client closed the connection while the reply was being made."""
    sent: int = 0
    held: int = 0
    """Connections that are open now."""

    def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def url(self) -> str:
        return f"{self.base}/v1"

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # closing alone does not end an `accept`
        self._thread.join(20)
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self.held += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            try:
                self.requests.append(_read_request(connection))
                self.reply(connection)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)
            except OSError:
                self.hung_up.set()
            finally:
                self.held -= 1


def _read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            raise ConnectionResetError
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    lengths = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")]
    length = lengths[0] if lengths else 0
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def provider(url: str, *, mode: str = "auto", key: str = KEY) -> Provider:
    """`openai:` for a server of a test."""
    env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": key, "M31A_OPENAI_MODE": mode}
    return load("openai:raw", env=env)


def ask(
    model: Provider,
    *,
    prompt: Prompt = PROMPT,
    ordinal: int = 0,
    task_key: str = "main",
    on_text: Callable[[str], None] = lambda text: None,
    cancel: threading.Event | None = None,
    timeout: float = 20,
    max_bytes: int = 1 << 20,
) -> Answer:
    """One decision with the bounds that tests like."""
    return model.decide(
        prompt,
        ordinal=ordinal,
        task_key=task_key,
        on_text=on_text,
        cancel=cancel or threading.Event(),
        timeout=timeout,
        max_bytes=max_bytes,
    )
