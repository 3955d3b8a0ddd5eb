"""Fixtures of the provider tests."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.providers import Provider, load, warm
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


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Provider]:
    """Load a specification with a package installed that brings `wordy:` by an entry point."""
    about = tmp_path / "wordy-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: wordy\nVersion: 1.0\n")
    target = "tests.providers.slow_words"
    points = [f"wordy = {target}:Wordy", f"broken = {target}:Nothing", f"other = {target}:time"]
    (about / "entry_points.txt").write_text("\n".join(["[m31a.providers]", *points, ""]))
    monkeypatch.syspath_prepend(str(tmp_path))
    return lambda spec: load(spec, env={})


@pytest.fixture(scope="session", autouse=True)
def library_loaded() -> None:
    """Load the client library once, so that no test measures that."""
    warm("openai:any")
