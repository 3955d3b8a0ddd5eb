"""P14: whatever a model server does, the failure is typed, bounded, and never a whole answer."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Callable

import pytest

from runtime.providers import Kind, ProviderError
from tests.clock import best_of_three, in_time
from tests.providers.raw_server import (
    DONE,
    KEY,
    STREAM_HEAD,
    RawServer,
    ask,
    call,
    event,
    provider,
)

Serve = Callable[..., RawServer]
WHOLE = call('{"kind": "verify"}')


def failure_of(url: str, **bounds: object) -> ProviderError:
    with pytest.raises(ProviderError) as failure:
        ask(provider(url), **bounds)  # type: ignore[arg-type]
    return failure.value


def status(code: int, body: str = '{"error": {"message": "no"}}', *headers: str) -> bytes:
    lines = [
        f"HTTP/1.1 {code} X",
        "Content-Type: application/json",
        f"Content-Length: {len(body.encode())}",
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (401, "auth"),
        (403, "auth"),
        (429, "rate_limit"),
        (500, "overload"),
        (502, "overload"),
        (503, "overload"),
        (529, "overload"),
        (400, "bad_request"),
        (404, "bad_request"),
        (422, "bad_request"),
        (302, "bad_request"),
    ],
)
def test_P14_status_is_a_typed_failure_after_one_request(
    serve: Serve, code: int, kind: str
) -> None:
    server = serve(status(code))
    failure = failure_of(server.url)
    assert failure.kind == kind
    assert len(server.requests) == 1
    assert failure.exit_code == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("17", 17), ("0", 0), ("999999999", 86_400), ("-5", None), ("soon", None), ("nan", None)],
)
def test_P14_retry_after_is_kept_within_bounds(
    serve: Serve, header: str, seconds: int | None
) -> None:
    server = serve(status(429, '{"error": {"message": "slow"}}', f"Retry-After: {header}"))
    assert failure_of(server.url).retry_after == seconds


def test_context_length_is_told_apart(serve: Serve) -> None:
    body = '{"error": {"message": "too long", "code": "context_length_exceeded"}}'
    assert failure_of(serve(status(400, body)).url).kind == "context_length"


def test_redirect_is_not_followed_with_the_key(serve: Serve) -> None:
    other = serve(STREAM_HEAD, WHOLE, event({}, "stop"), DONE)
    server = serve(status(307, "{}", f"Location: {other.url}/chat/completions"))
    assert failure_of(server.url).kind == "bad_request"
    assert other.requests == []


def test_error_text_is_shown_bounded_printable_and_without_the_key(serve: Serve) -> None:
    said = f"Bad key {KEY}\\u001b[2J\\n" + "x" * 5000
    failure = failure_of(serve(status(401, f'{{"error": {{"message": "{said}"}}}}')).url)
    assert "Bad key [key]" in failure.message
    assert KEY not in repr(failure) + str(failure)
    assert "\x1b" not in failure.message
    assert len(failure.message) < 500


def test_error_inside_a_stream_is_typed(serve: Serve) -> None:
    error = b'data: {"error": {"message": "slow down", "code": 429}}\n\n'
    server = serve(STREAM_HEAD, event({"content": "I be"}), error)
    failure = failure_of(server.url)
    assert failure.kind == "rate_limit"
    assert failure.partial == "I be"


@pytest.mark.parametrize(
    "rest",
    [
        b"",
        WHOLE,
        WHOLE + DONE,
        WHOLE[: len(WHOLE) // 2],
        b"data: ",
        b": keep-alive\n\n",
    ],
)
def test_P14_cut_stream_is_never_an_answer_and_keeps_its_text(serve: Serve, rest: bytes) -> None:
    server = serve(STREAM_HEAD, event({"content": "I begin"}), rest)
    failure = failure_of(server.url)
    assert failure.kind == "cut"
    assert failure.partial == "I begin"


def test_P14_stream_cut_in_a_chunk_is_never_an_answer(serve: Serve) -> None:
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    body = event({"content": "I begin"}) + WHOLE + event({}, "stop")
    server = serve(head, b"%x\r\n" % (len(body) + 10), body)
    assert failure_of(server.url).kind == "cut"


def test_connection_closed_without_an_answer_is_cut(serve: Serve) -> None:
    assert failure_of(serve(b"").url).kind == "cut"


@pytest.mark.parametrize(
    "junk",
    [
        b'data: {"choices": [\n\n',
        b"data: \xff\xfe\n\n",
        b'data: {"choices": [null]}\n\n',
        b'data: {"choices": 7}\n\n',
        b'data: {"choices": [{"index": 0, "delta": "text"}]}\n\n',
        b"data: [1, 2]\n\n",
        b"data: 7\n\n",
        b"data: " + b'{"a":' * 5000 + b"\n\n",
    ],
)
def test_P14_half_and_wrong_events_are_malformed(serve: Serve, junk: bytes) -> None:
    server = serve(STREAM_HEAD, event({"content": "I begin"}), junk, event({}, "x"), b"x")
    failure = failure_of(server.url)
    assert failure.kind in ("malformed", "cut")
    assert failure.partial == "I begin"


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        status(200, "<html>Hello</html>"),
        status(200, "{}"),
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
    ],
)
def test_server_that_is_no_model_server_is_a_failure(serve: Serve, answer: bytes) -> None:
    assert failure_of(serve(answer).url).kind in ("malformed", "cut")


@best_of_three
def test_P14_line_of_ten_megabytes_is_bounded(serve: Serve) -> None:
    def reply(connection: socket.socket) -> None:
        connection.sendall(STREAM_HEAD + event({"content": "I begin"}) + b"data: ")
        for _ in range(160):
            connection.sendall(b"x" * 65536)
            server.sent += 65536

    server = serve(reply=reply)
    started = time.monotonic()
    failure = failure_of(server.url, max_bytes=200_000)
    assert failure.kind == "size"
    assert "200000" in failure.message
    assert failure.partial == "I begin"
    in_time(started, 2)
    assert server.hung_up.wait(20)
    assert server.sent < 10_000_000


def test_error_body_is_bounded_too(serve: Serve) -> None:
    body = '{"error": {"message": "' + "x" * 500_000 + '"}}'
    assert failure_of(serve(status(500, body)).url, max_bytes=100_000).kind == "size"


def test_compressed_answer_is_refused_unread(serve: Serve) -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    assert failure_of(serve(head, bomb).url).kind == "malformed"


def test_P5_answer_beyond_its_bound_is_reported_as_such(serve: Serve) -> None:
    stream = event({"content": "x" * 1000})
    assert failure_of(serve(STREAM_HEAD, stream).url, max_bytes=64).kind == "size"


def test_unreachable_server_is_told_apart() -> None:
    with socket.socket() as bound:  # so that nobody else gets it; nobody listens there
        bound.bind(("127.0.0.1", 0))
        failure = failure_of(f"http://127.0.0.1:{bound.getsockname()[1]}/v1")
    assert failure.kind == "unreachable"
    assert "OPENAI_BASE_URL" in str(failure)


def test_name_that_does_not_resolve_is_unreachable() -> None:
    assert failure_of("http://no-such-host.invalid/v1").kind == "unreachable"


def test_proxy_of_the_environment_is_not_used(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve(status(500))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    server = serve(STREAM_HEAD, WHOLE, event({}, "tool_calls"), DONE)
    assert ask(provider(server.url)).action == {"kind": "verify"}
    assert proxy.requests == []


def test_every_kind_has_one_name() -> None:
    assert "unreachable" in Kind.__args__  # type: ignore[attr-defined]
