"""A call ends when its time is up or a person cancels, and the server sees its socket close."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

import pytest

from runtime.providers import Prompt, ProviderError, calling
from runtime.providers.scripted_server import ScriptedServer
from tests.clock import begun, best_of_three, in_time
from tests.providers.contract import soon
from tests.providers.raw_server import STREAM_HEAD, RawServer, ask, event, provider

Serve = Callable[..., RawServer]


def press_once(at_work: Callable[[], bool], cancel: threading.Event) -> list[float]:
    """Cancel shortly after the server has got the request; the list tells when."""
    pressed: list[float] = []

    def press() -> None:
        while not at_work():
            time.sleep(0.01)
        time.sleep(0.1)
        pressed.append(time.monotonic())
        cancel.set()

    threading.Thread(target=press, daemon=True).start()
    return pressed


def drip(connection: socket.socket) -> None:
    """A stream that never stops, a letter at a time."""
    connection.sendall(STREAM_HEAD)
    for _ in range(600):
        connection.sendall(event({"content": "x"}))
        time.sleep(0.05)


def silent(connection: socket.socket) -> None:
    """Never an answer: waits for the client to go."""
    if not connection.recv(1):
        raise ConnectionResetError


def silent_after_a_word(connection: socket.socket) -> None:
    connection.sendall(STREAM_HEAD + event({"content": "I begin"}))
    silent(connection)


@pytest.mark.parametrize("reply", [drip, silent, silent_after_a_word])
@best_of_three
def test_P3_slow_server_is_a_timeout_and_is_hung_up_on(
    serve: Serve, reply: Callable[[socket.socket], None]
) -> None:
    server = serve(reply=reply)
    started = time.monotonic()
    with pytest.raises(ProviderError) as failure:
        ask(provider(server.url), timeout=0.3)
    assert failure.value.kind == "timeout"
    assert "0.3 s" in failure.value.message
    if reply is silent_after_a_word:
        begun(failure.value.partial)
        assert failure.value.partial == "I begin"
    in_time(started, 0.8)
    hung_up = server.hung_up.wait(20)
    begun(hung_up or server.requests)
    assert hung_up
    in_time(started, 1.3)


def test_P3_a_timeout_that_the_client_noticed_first_says_the_same() -> None:
    async def late(call: calling.Call) -> None:
        time.sleep(call.timeout + 0.05)  # noqa: ASYNC251 - nothing else gets its turn
        raise ProviderError("timeout", "The model server did not answer in time.")

    call = calling.Call(Prompt("", ()), lambda text: None, timeout=0.05, max_bytes=10)
    with pytest.raises(ProviderError, match=r"within 0\.05 s"):
        calling.run(call, late, threading.Event())


@pytest.mark.parametrize("reply", [drip, silent, silent_after_a_word])
@best_of_three
def test_A9_cancelled_call_closes_the_servers_socket_within_half_a_second(
    serve: Serve, reply: Callable[[socket.socket], None]
) -> None:
    server = serve(reply=reply)
    cancel = threading.Event()
    pressed = press_once(lambda: len(server.requests) > 0, cancel)
    with pytest.raises(ProviderError) as failure:
        ask(provider(server.url), cancel=cancel, timeout=30)
    assert failure.value.kind == "cancelled"
    assert server.hung_up.wait(20)
    in_time(pressed[0], 0.5)


def test_A9_cancelled_before_it_began_asks_nobody(serve: Serve) -> None:
    server = serve(b"")
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(ProviderError) as failure:
        ask(provider(server.url), cancel=cancel)
    assert failure.value.kind == "cancelled"
    assert server.requests == []


@best_of_three
def test_A9_scripted_server_records_that_the_client_went_away() -> None:
    cancel = threading.Event()
    with ScriptedServer(b'{"kind": "verify", "delay_ms": 60000}') as server:
        pressed = press_once(lambda: len(server.exchanges) > 0, cancel)
        with pytest.raises(ProviderError):
            ask(provider(server.base_url), cancel=cancel)
        assert server.exchanges[0].hung_up.wait(20)
        in_time(pressed[0], 1)


def test_what_the_caller_raises_passes_through_and_ends_the_call(serve: Serve) -> None:
    class Stale(ValueError):
        """As a fence that has moved on."""

    def on_text(text: str) -> None:
        raise Stale

    server = serve(reply=drip)
    with pytest.raises(Stale):
        ask(provider(server.url), on_text=on_text)
    assert server.hung_up.wait(20)


def test_text_is_handed_on_as_it_comes(serve: Serve) -> None:
    shown = threading.Event()

    def reply(connection: socket.socket) -> None:
        connection.sendall(STREAM_HEAD + event({"content": "first"}))
        # The server goes on only once the first word was shown.
        assert shown.wait(20)
        connection.sendall(event({"content": '\n{"kind": "verify"}'}, "stop"))

    def on_text(text: str) -> None:
        shown.set()

    answer = ask(provider(serve(reply=reply).url), on_text=on_text)
    assert answer.action == {"kind": "verify"}


def test_many_calls_leave_no_socket_and_no_thread_behind(serve: Serve) -> None:
    import psutil

    server = serve(reply=silent_after_a_word)
    model = provider(server.url)
    process = psutil.Process()
    threads = threading.active_count()
    for _ in range(5):
        with pytest.raises(ProviderError):
            ask(model, timeout=0.1)

    def mine() -> list[object]:
        return [
            connection
            for connection in process.net_connections()
            if connection.raddr and f":{connection.raddr.port}/" in server.url
        ]

    assert soon(lambda: mine() == [])
    # The server's own threads end when they see that nobody listens.
    assert soon(lambda: threading.active_count() <= threads)
