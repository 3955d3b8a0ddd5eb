"""Fixtures of the provider tests."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from runtime.providers import warm
from tests.providers.agy_kit import agy, home
from tests.providers.raw_server import RawServer

__all__ = ["agy", "home"]


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    """Start a raw server that answers with bytes, or by a function of the socket."""
    servers: list[RawServer] = []

    def start(*parts: bytes, reply: Callable[[socket.socket], None] | None = None) -> RawServer:
        server = RawServer(reply or (lambda connection: connection.sendall(b"".join(parts))))
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="session", autouse=True)
def library_loaded() -> None:
    """Load the client library once, so that no test measures that."""
    warm("openai:any")
