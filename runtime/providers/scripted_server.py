"""A model server on loopback that plays a script: OpenAI's chat completions over real HTTP.

For the demonstration and for tests. An answer's line is the count of model answers in the request
(`assistant` messages), or, with `count="requests"`, the count of requests that came before.
Run it as a program: `python -m runtime.providers.scripted_server FILE [--port N]`.
"""

from __future__ import annotations

import argparse
import select
import signal
import socket
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import orjson

from runtime.core.errors import BadInput
from runtime.providers import script
from runtime.providers.base import Kind
from runtime.providers.completion_events import chunk, events
from runtime.providers.scripted import CHUNK_PAUSE

MAX_REQUEST = 32 << 20
KEPT_EXCHANGES = 256
Count = Literal["answers", "requests"]
_PATHS = ("/v1/chat/completions", "/chat/completions")
_STATUS: dict[Kind, int] = {
    "auth": 401,
    "rate_limit": 429,
    "overload": 503,
    "context_length": 400,
    "bad_request": 400,
    "exhausted": 410,
}


@dataclass(slots=True)
class Exchange:
    """One request as it came, and how it ended."""

    body: dict[str, Any]
    keyed: bool
    """Whether an `Authorization` header came with it."""
    started: float
    """Monotonic seconds."""
    ended: float | None = None
    hung_up: threading.Event = field(default_factory=threading.Event)
    """Set when the client closed the connection before the answer was whole."""


class _HungUp(Exception):
    """The client closed the connection."""


class ScriptedServer:
    """Plays a script on 127.0.0.1 from construction until `close`."""

    def __init__(
        self,
        data: bytes,
        *,
        port: int = 0,
        task_key: str | None = None,
        count: Count = "answers",
        pause: float = CHUNK_PAUSE,
    ) -> None:
        """`pause` is the seconds between two parts of a text. Raises `BadInput` for a bad script,
        and `OSError` where the port is taken."""
        self.lines = script.sequence(script.parse(data), task_key)
        self.count: Count = count
        self.pause = pause
        self.exchanges: deque[Exchange] = deque(maxlen=KEPT_EXCHANGES)
        """The last requests, oldest first."""
        self._served = 0
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", port), _Handler)
        self._http.scripted = self
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    @property
    def base_url(self) -> str:
        """What OPENAI_BASE_URL is to be."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        """Stop listening. Answers under way end with their connections."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def begin(self, body: dict[str, Any], *, keyed: bool) -> tuple[Exchange, script.Line | None]:
        """Note a request, and choose the line that answers it; None where the script is over."""
        exchange = Exchange(body, keyed, time.monotonic())
        with self._lock:
            index = self._served if self.count == "requests" else _answers_in(body)
            self._served += 1
            self.exchanges.append(exchange)
        return exchange, self.lines[index] if index < len(self.lines) else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    scripted: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error; anything else is shown."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the exchanges are kept."""

    def do_GET(self) -> None:
        """The list of models, which some clients ask for first."""
        if self.path.endswith("/models"):
            self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        else:
            self._refuse(404, "there is nothing here")

    def do_POST(self) -> None:
        """One chat completion."""
        body = self._body()
        if body is None:
            return
        keyed = "Authorization" in self.headers
        exchange, line = self.server.scripted.begin(body, keyed=keyed)
        try:
            self._play(body, line)
        except (_HungUp, OSError):
            exchange.hung_up.set()
            self.close_connection = True
        finally:
            exchange.ended = time.monotonic()

    def _body(self) -> dict[str, Any] | None:
        try:
            size = int(self.headers.get("Content-Length", ""))
        except ValueError:
            size = -1
        if not 0 <= size <= MAX_REQUEST:
            self.close_connection = True
            self._refuse(413, "a request needs a Content-Length within bounds")
            return None
        try:
            body = orjson.loads(self.rfile.read(size))
        except orjson.JSONDecodeError:
            body = None
        if self.path not in _PATHS:
            self._refuse(404, "there is nothing here")
        elif not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            self._refuse(400, "a JSON object with messages is needed")
        else:
            return body
        return None

    def _play(self, body: dict[str, Any], line: script.Line | None) -> None:
        if line is None:
            self._refuse(410, "the script has no further line")
            return
        self._pause(line.delay)
        failure = script.failure(line, "") if line.error is not None else None
        if failure is not None and failure.kind in _STATUS and not line.say:
            code = "context_length_exceeded" if failure.kind == "context_length" else failure.kind
            self._refuse(_STATUS[failure.kind], failure.message, code=code)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events(body, line):
            if event is None:
                self._pause(self.server.scripted.pause)
                continue
            self._event(orjson.dumps(event))
        if failure is None:
            self._event(b"[DONE]")
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._fail_midway(failure.kind)

    def _fail_midway(self, kind: Kind) -> None:
        """Fail as that kind does once a stream has begun."""
        if kind == "malformed":
            self._event(b'{"choices": [')
        elif kind == "refusal":
            self._event(orjson.dumps(chunk({}, "content_filter")))
            self._event(b"[DONE]")
            self.wfile.write(b"0\r\n\r\n")
        elif kind == "timeout":
            self._pause(script.MAX_DELAY_MS / 1000)
        self.close_connection = True

    def _event(self, data: bytes) -> None:
        frame = b"data: " + data + b"\n\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame))

    def _pause(self, seconds: float) -> None:
        """Wait, unless the client hangs up: raises `_HungUp`."""
        ready, _, _ = select.select([self.connection], [], [], seconds)
        if ready and not self.connection.recv(1, socket.MSG_PEEK):
            raise _HungUp

    def _refuse(self, status: int, message: str, *, code: str = "") -> None:
        self._send(status, {"error": {"message": message, "type": code, "code": code or None}})

    def _send(self, status: int, value: dict[str, Any]) -> None:
        data = orjson.dumps(value)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(data)


def _answers_in(body: dict[str, Any]) -> int:
    messages = body["messages"]
    return sum(isinstance(item, dict) and item.get("role") == "assistant" for item in messages)


def main() -> int:
    """Serve a script until interrupted; prints the base URL on the first line."""
    parser = argparse.ArgumentParser(description="Play a script as an OpenAI-compatible server.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        server = ScriptedServer(given.file.read_bytes(), port=given.port)
    except (BadInput, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    with server:
        print(server.base_url, flush=True)
        signal.sigwait(signals)
    return 0


if __name__ == "__main__":
    sys.exit(main())
