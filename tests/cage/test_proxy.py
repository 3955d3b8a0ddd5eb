"""The proxy by itself, on real sockets: whatever is not plainly a request to a listed host is refused."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from origin import ADDRESS, Origin

from runtime.policy import reach
from runtime.sandbox import outbound, proxy
from runtime.sandbox.proxy import Proxy


@pytest.fixture
def server() -> Iterator[Origin]:
    made = Origin()
    yield made
    made.close()


@contextmanager
def proxied(*hosts: str, lookup: outbound.Lookup = outbound.look_up) -> Iterator[Proxy]:
    made = Proxy(socket.create_server(("127.0.0.1", 0)), reach.listed(hosts), lookup=lookup)
    try:
        yield made
    finally:
        made.close()


def ask(to: Proxy, *pieces: bytes, wait: float = 0.05) -> bytes:
    """Send a request in pieces; the whole answer."""
    with socket.create_connection(to._listener.getsockname(), timeout=20) as end:
        data = b""
        with contextlib.suppress(OSError):  # it may have hung up
            for piece in pieces:
                end.sendall(piece)
                if len(pieces) > 1:
                    time.sleep(wait)
            end.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            while more := end.recv(65536):
                data += more
        return data


def status(answer: bytes) -> int:
    return int(answer.split(b" ")[1])


def get(name: str, *fields: str, host: str = "", path: str = "/") -> bytes:
    lines = [f"GET http://{name}{path} HTTP/1.1", f"Host: {host or name}", *fields, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def tunnel(name: str, *fields: str) -> bytes:
    return "\r\n".join([f"CONNECT {name} HTTP/1.1", *fields, "", ""]).encode("latin-1")


def refusals(of: Proxy) -> list[str]:
    return [row.refused for row in of._book.rows.values()]


def test_F38_a_tunnel_is_the_same_however_it_is_cut(server: Origin) -> None:
    name = server.name
    with proxied(name) as to:
        inner = get("x").replace(b"GET http://x/", b"GET /inner")
        whole = ask(to, tunnel(name, f"Host: {name}") + inner)
        pieces = [bytes([byte]) for byte in tunnel(name)]
        cut = ask(to, b"".join(pieces[:9]), b"".join(pieces[9:-1]), pieces[-1], inner)
        assert all(b"200 Connection established" in one for one in (whole, cut))
        assert all(one.endswith(b"hello from the origin\n") for one in (whole, cut))
    assert len(server.seen) == 2


def test_F38_another_host_is_refused_however_it_is_said(server: Origin) -> None:
    name = server.name
    with proxied(name) as to:
        for request in (
            (tunnel("example.org:443"),),
            (tunnel("example.org:443")[:12], tunnel("example.org:443")[12:]),
            (tunnel("example.org:443", f"Host: {name}"),),
            (tunnel(name, "Host: example.org:443"),),
            (tunnel(name, f"Host: {name}", "Host: example.org"),),
            (get("example.org", host=name),),
            (get(name, host="example.org"),),
            (get(name, host=f"{ADDRESS}:{server.port + 1}"),),
            (get(name, f"Host: {name}"),),
            (get(f"{name}@example.org", host="example.org"),),
            (get(f"example.org:80@{name}", host=name),),
            (get(f"{name}\\@example.org", host=name),),
            (b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % name.encode(),),
            (get(name).replace(b"http://", b"https://"),),
            (get(name).replace(b"http://", b"file://"),),
        ):
            answer = ask(to, *request)
            assert status(answer) in (400, 403), (request, answer)
    assert server.seen == []


@pytest.mark.parametrize(
    "host",
    ["2130706434", "0x7f000002", "0177.0.0.2", "127.2", "0x7f.0.0.2", "127.0.0.2.", "[::ffff:127.0.0.2]",
     "[::ffff:7f00:2]", "127.0.0.1", "0.0.0.0", "0", "localhost", "[::1]", "169.254.169.254", "[fd00::1]",
     "metadata.google.internal", "127.0.0.2%20", "127.0.0.2%00.example.org"],
)  # fmt: skip
def test_addresses_in_disguise_and_private_ones_are_refused(server: Origin, host: str) -> None:
    with proxied(server.name) as to:
        for request in (tunnel(f"{host}:{server.port}"), get(f"{host}:{server.port}")):
            plain = host == "127.0.0.2."  # one last dot is no disguise
            answer = ask(to, request)
            assert (status(answer) == 200) if plain else status(answer) in (400, 403), answer


def test_a_name_that_leads_to_a_private_address_is_refused_unless_that_is_listed(
    server: Origin,
) -> None:
    name = f"localhost:{server.port}"
    with proxied(name) as to:
        assert status(ask(to, get(name))) == 403
        assert "no public address" in refusals(to)[0]
    looked: list[str] = []

    def lookup(host: str, port: int) -> list[str]:
        looked.append(host)
        return [ADDRESS] if len(looked) == 1 else ["203.0.113.1"]

    with proxied("inner.example:" + name.split(":")[1], server.name, lookup=lookup) as to:
        assert status(ask(to, get(f"inner.example:{server.port}"))) == 200
    assert looked == ["inner.example"] and len(server.seen) == 1  # once, and what was found is used


def test_one_private_address_among_public_ones_spoils_the_name(server: Origin) -> None:
    for found in (["8.8.8.8", "10.0.0.1"], ["127.0.0.1"], ["::ffff:127.0.0.1"], ["168.63.129.16"]):
        with proxied("a.example", lookup=lambda h, p, found=found: found) as to:
            assert status(ask(to, tunnel("a.example:443"))) == 403


def test_a_second_request_on_a_connection_is_refused(server: Origin) -> None:
    name = server.name
    with proxied(name) as to:
        smuggled = get("example.org").replace(b"http://example.org/", b"/smuggled")
        assert status(ask(to, get(name) + smuggled)) == 400
        ask(to, get(name), smuggled)
        ask(to, get(name, "Content-Length: 3") + b"abc" + smuggled)
        ask(to, get(name, "Transfer-Encoding: chunked") + b"3\r\nabc\r\n0\r\n\r\n" + smuggled)
        assert any("second request" in why for why in refusals(to))
    assert not any("smuggled" in seen or "example.org" in seen for seen in server.seen)


@pytest.mark.parametrize(
    "fields",
    [("Content-Length: 3", "Content-Length: 3"), ("Content-Length: 3", "Transfer-Encoding: chunked"),
     ("Transfer-Encoding: gzip, chunked",), ("Content-Length: +3",), ("Content-Length: 0x3",),
     (" folded: 1",), ("a b: 1",), ("a",), ("a: b\x00c",), ("a: b\nc: d",), ("a\r: b",)],
)  # fmt: skip
def test_what_can_be_read_in_two_ways_is_refused(server: Origin, fields: tuple[str, ...]) -> None:
    with proxied(server.name) as to:
        assert status(ask(to, get(server.name, *fields) + b"abc")) == 400
    assert server.seen == []


def test_chunks_in_a_request_of_http_1_0_are_refused(server: Origin) -> None:
    with proxied(server.name) as to:
        old = get(server.name, "Transfer-Encoding: chunked").replace(b"HTTP/1.1", b"HTTP/1.0")
        assert status(ask(to, old + b"3\r\nabc\r\n0\r\n\r\n")) == 400
        assert status(ask(to, get(server.name).replace(b"HTTP/1.1", b"HTTP/1.0"))) == 200
    assert len(server.seen) == 1


@pytest.mark.parametrize("body", [b"3;x=1\r\nabc\r\n0\r\n\r\n", b"3\nabc\n0\n\n", b"-1\r\n", b"3\r\nabcd\r\n",
                                  b"0\r\nTrailer: 1\r\n\r\n"])  # fmt: skip
def test_odd_chunks_are_refused(server: Origin, body: bytes) -> None:
    with proxied(server.name) as to:
        assert status(ask(to, get(server.name, "Transfer-Encoding: chunked") + body)) == 400


def test_fields_for_the_proxy_are_not_passed_on(server: Origin) -> None:
    with proxied(server.name) as to, socket.create_server((ADDRESS, 0)) as raw:
        name = f"{ADDRESS}:{raw.getsockname()[1]}"
        to._reachable = reach.listed([name])
        fields = ("Proxy-Authorization: Basic x", "Connection: keep-alive, X-Hop", "X-Hop: 1",
                  "Upgrade: h2c", "Accept: */*")  # fmt: skip
        with socket.create_connection(to._listener.getsockname()) as end:
            end.sendall(get(name, *fields, path="/a?b=c"))
            there, _ = raw.accept()
            with there:
                head = there.recv(4096).decode()
        assert head.startswith("GET /a?b=c HTTP/1.1\r\n") and "accept: */*" in head
        assert head.endswith("Connection: close\r\n\r\n")
        assert not any(
            word in head.lower() for word in ("authorization", "x-hop", "upgrade", "keep")
        )


def test_heads_are_bounded_in_size_and_time(
    server: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "HEAD_SECONDS", 0.3)
    with proxied(server.name) as to:
        assert status(ask(to, get(server.name, "X: " + "y" * 20000))) == 400
        with socket.create_connection(to._listener.getsockname(), timeout=20) as end:
            end.sendall(b"GET ")
            while end.recv(4096):
                pass
        assert any("in time" in why for why in refusals(to))


def test_connections_bytes_and_silence_are_bounded(
    server: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "LIVE", 2)
    with proxied(server.name) as to:
        place = to._listener.getsockname()
        ends = [socket.create_connection(place) for _ in range(3)]
        ends[2].settimeout(5)
        assert ends[2].recv(10) == b"" and "too many connections" in refusals(to)
        for end in ends:
            end.close()
    monkeypatch.setattr(proxy, "TOTAL_BYTES", 100)
    with proxied(server.name) as to:
        ask(to, get(server.name))
        assert "the bytes of this command are used up" in refusals(to)
    monkeypatch.setattr(proxy, "IDLE_SECONDS", 0.2)
    with proxied(server.name) as to, socket.create_connection(to._listener.getsockname()) as end:
        end.settimeout(5)
        end.sendall(tunnel(server.name))
        assert b"200" in end.recv(100)
        assert end.recv(100) == b""


def test_a_large_body_goes_both_ways_at_once() -> None:
    size = 8 << 20
    with socket.create_server((ADDRESS, 0)) as raw:
        name = f"{ADDRESS}:{raw.getsockname()[1]}"
        with proxied(name) as to, socket.create_connection(to._listener.getsockname()) as end:
            end.sendall(tunnel(name))
            there, _ = raw.accept()
            assert end.recv(100).startswith(b"HTTP/1.1 200")
            counts = _both_ways(end, there, size)
            there.close()
        row = next(iter(to._book.rows.values()))
    assert counts == [size, size] and row.sent == row.received == size


def _both_ways(a: socket.socket, b: socket.socket, size: int) -> list[int]:
    from threading import Thread

    counts = [0, 0]

    def write(end: socket.socket) -> None:
        end.sendall(b"x" * size)
        end.shutdown(socket.SHUT_WR)

    def read(at: int, end: socket.socket) -> None:
        while data := end.recv(1 << 16):
            counts[at] += len(data)

    threads = [Thread(target=write, args=(end,)) for end in (a, b)]
    threads += [Thread(target=read, args=(at, end)) for at, end in enumerate((a, b))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return counts


def test_what_is_told_is_bounded_and_holds_no_control_characters(server: Origin) -> None:
    with proxied(server.name) as to:
        for number in range(proxy.NAMED + 20):
            ask(to, tunnel(f"h{number}.example:443"))
        ask(to, tunnel("a\x1b[31m:443"))
        rows = to.close()
    assert len(rows) <= proxy.NAMED + 2 and sum(row.count for row in rows) == proxy.NAMED + 21
    assert all(row.host.isprintable() for row in rows)
