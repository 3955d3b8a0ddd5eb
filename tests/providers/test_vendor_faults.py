"""P14: whatever a vendor's server does, the failure is typed, bounded, and never a whole answer."""

from __future__ import annotations

import gzip
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from runtime.providers import ProviderError, wording
from tests.clock import begun, best_of_three, in_time
from tests.providers.raw_server import RawServer, ask
from tests.providers.voices import VERIFY, VOICES, Voice, head, status

Serve = Callable[..., RawServer]
every_vendor = pytest.mark.parametrize("voice", VOICES, ids=lambda voice: voice.scheme)


def failure_of(voice: Voice, base: str, **bounds: Any) -> ProviderError:
    with pytest.raises(ProviderError) as failure:
        ask(voice.provider(base), **bounds)
    return failure.value


@pytest.mark.thorough
@every_vendor
def test_P14_stream_cut_anywhere_is_never_an_answer(voice: Voice, serve: Serve) -> None:
    """A tenth of the places at which a good stream can break off, the last bytes all of them."""
    answer = voice.whole("I begin")
    # What comes after the event that ends an answer may be lost.
    least = len(answer) - len(voice.end()) + len(voice.end(usage=False)) // 4
    places = [*range(len(voice.head), least, max(1, least // 24)), least]
    server = serve()
    for place in places:
        server.reply = lambda connection, end=place: connection.sendall(answer[:end])
        failure = failure_of(voice, server.base)
        assert failure.kind in ("cut", "malformed"), (place, answer[:place][-80:])
        assert "I begin".startswith(failure.partial)


@every_vendor
def test_P14_half_an_event_is_no_event(voice: Voice, serve: Serve) -> None:
    call = voice.call(VERIFY)
    server = serve(voice.head, voice.start, voice.text("I begin"), call[: len(call) // 2])
    failure = failure_of(voice, server.base)
    assert failure.kind in ("cut", "malformed")
    assert failure.partial == "I begin"


@every_vendor
@pytest.mark.parametrize(
    "junk",
    [
        b'data: {"choices": [\n\n',
        b"data: \xff\xfe\n\n{\xff}\n",
        b"data: [1, 2]\n\n[1, 2]\n",
        b"data: 7\n\n7\n",
        b"data: null\n\nnull\n",
        b"data: " + b'{"a":' * 5000 + b"\n\n" + b'{"a":' * 5000 + b"\n",
        b'data: {"candidates": 7, "choices": 7, "message": 7, "type": 7}\n\n'
        b'{"message": 7, "done": "x"}\n',
        b'data: {"candidates": [{"content": {"parts": [{"text": 7}]}}]}\n\n'
        b'{"message": {"content": 7}}\n',
        b"<html>" * 100,
    ],
)
def test_P14_garbage_is_a_failure(voice: Voice, serve: Serve, junk: bytes) -> None:
    server = serve(voice.head, voice.start, voice.text("I begin"), junk)
    failure = failure_of(voice, server.base)
    assert failure.kind in ("cut", "malformed")
    assert failure.partial == "I begin"


@every_vendor
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        head("text/html") + b"<html>hi</html>",
        head("application/json") + b"{}",
        head() + b"",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ],
)
def test_P14_server_that_is_no_model_server_is_a_failure(
    voice: Voice, serve: Serve, answer: bytes
) -> None:
    assert failure_of(voice, serve(answer).base).kind in ("cut", "malformed", "bad_request")


@every_vendor
@best_of_three
def test_P14_line_of_ten_megabytes_is_bounded(voice: Voice, serve: Serve) -> None:
    def reply(connection: socket.socket) -> None:
        connection.sendall(voice.head + voice.start + voice.text("I begin") + b"data: ")
        for _ in range(160):
            connection.sendall(b"x" * 65536)
            server.sent += 65536

    server = serve(reply=reply)
    started = time.monotonic()
    failure = failure_of(voice, server.base, max_bytes=200_000)
    assert failure.kind == "size"
    assert failure.partial == "I begin"
    in_time(started, 3)
    assert server.hung_up.wait(20)
    assert server.sent < 10_000_000


@every_vendor
def test_P14_error_body_is_bounded_too(voice: Voice, serve: Serve) -> None:
    server = serve(status(500, voice.error("x" * 500_000)))
    assert failure_of(voice, server.base, max_bytes=100_000).kind == "size"


@every_vendor
@pytest.mark.parametrize(
    "error",
    [7, None, [], "x", {"details": 7}, {"details": {"a": 1}}, {"details": [{"retryDelay": [3]}]},
     {"message": {"a": 1}, "details": [7]}],
)  # fmt: skip
def test_P14_error_body_of_any_shape_is_a_failure_of_its_status(
    voice: Voice, serve: Serve, error: object
) -> None:
    server = serve(status(503, {"error": error}))
    assert failure_of(voice, server.base).kind == "overload"


@every_vendor
def test_P14_compressed_bomb_is_refused_unread(voice: Voice, serve: Serve) -> None:
    bomb = gzip.compress(b"data: " + b"\0" * 200_000_000, 1)
    server = serve(head("text/event-stream", "Content-Encoding: gzip"), bomb)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert failure_of(voice, server.base, max_bytes=1 << 30).kind == "malformed"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@every_vendor
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_P14_redirect_is_not_followed_with_the_key(voice: Voice, serve: Serve, code: int) -> None:
    other = serve(voice.whole())
    server = serve(status(code, {}, f"Location: {other.base}/"))
    assert failure_of(voice, server.base).kind == "bad_request"
    assert other.requests == []


@every_vendor
@best_of_three
def test_P14_slow_drip_is_a_timeout_and_is_hung_up_on(voice: Voice, serve: Serve) -> None:
    answer = voice.whole("I begin")

    def reply(connection: socket.socket) -> None:
        for byte in answer:
            connection.sendall(bytes([byte]))
            time.sleep(0.01)

    ask(voice.provider(serve(answer).base), timeout=30)
    server = serve(reply=reply)
    started = time.monotonic()
    failure = failure_of(voice, server.base, timeout=0.5)
    assert failure.kind == "timeout"
    in_time(started, 1.5)
    hung_up = server.hung_up.wait(20)
    begun(hung_up or server.requests)
    assert hung_up
    in_time(started, 2.5)


@every_vendor
def test_P14_server_that_is_not_there_names_its_setting(voice: Voice) -> None:
    with socket.socket() as bound:  # so that nobody else gets it; nobody listens there
        bound.bind(("127.0.0.1", 0))
        failure = failure_of(voice, f"http://127.0.0.1:{bound.getsockname()[1]}")
    assert failure.kind == "unreachable"
    assert failure.retryable
    assert voice.url in str(failure)


@every_vendor
@pytest.mark.parametrize("header", ["soon", "-5", "nan", "inf", "", "Fri, 99 Foo 2020"])
def test_P14_retry_after_that_is_none_is_none(voice: Voice, serve: Serve, header: str) -> None:
    server = serve(status(429, voice.error("slow"), f"Retry-After: {header}"))
    assert failure_of(voice, server.base).retry_after is None


@pytest.mark.parametrize(
    "value", [10**400, -1, -(10**400), float("nan"), float("inf"), None, [3], b"3"]
)
def test_P14_wait_of_any_kind_is_bounded_or_none(value: object) -> None:
    assert wording.seconds(value) in (None, 86_400)


@every_vendor
def test_P14_retry_after_may_be_a_date_and_is_bounded(voice: Voice, serve: Serve) -> None:
    later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 90))
    found = []
    for header in (later, "999999999", "2"):
        server = serve(status(429, voice.error("slow"), f"Retry-After: {header}"))
        found.append(failure_of(voice, server.base).retry_after)
    assert found[0] is not None and 60 <= found[0] <= 90
    assert found[1:] == [86_400, 2]


@every_vendor
def test_P14_events_in_pieces_are_put_together(voice: Voice, serve: Serve) -> None:
    answer = voice.whole("Grün ist es.", {"kind": "read_file", "path": "ä.py"})

    def reply(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(answer), 37):
            connection.sendall(answer[start : start + 37])
            time.sleep(0.0005)

    found = ask(voice.provider(serve(reply=reply).base))
    assert found.text == "Grün ist es."
    assert found.action == {"kind": "read_file", "path": "ä.py"}


FLOODS = {
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"y" * 1000 + b"\r\n"),
    "one header": (b"HTTP/1.1 200 OK\r\nX-A: ", b"y" * 1000),
    "informational": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
    "comments": (head(), b": ping\n\n" * 100),
    "nothing": (head(), b"\0" * 1000),
}


@pytest.mark.parametrize("voice", [VOICES[0], VOICES[2]], ids=lambda voice: voice.scheme)
@pytest.mark.parametrize("name", FLOODS)
@best_of_three
def test_P14_flood_of_any_kind_is_bounded_and_typed(voice: Voice, serve: Serve, name: str) -> None:
    first, again = FLOODS[name]

    def reply(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(again)

    started = time.monotonic()
    failure = failure_of(voice, serve(reply=reply).base, timeout=1, max_bytes=1 << 20)
    assert failure.kind in ("cut", "timeout", "size", "malformed")
    in_time(started, 3)


@pytest.mark.thorough
def test_odd_values_of_a_server_are_not_quoted_on_standard_error(serve: Serve) -> None:
    text = VOICES[0].whole().replace(b"812", b'"odd"').replace(b"34", b"-1.5")
    program = (
        "from tests.providers.raw_server import ask\n"
        "from tests.providers.voices import Voice\n"
        f"print(ask(Voice().provider({serve(text).base!r}), timeout=30).usage)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=50)
    assert (done.stderr, b"estimated=True" in done.stdout) == (b"", True)
