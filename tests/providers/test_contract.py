"""The contract kit over every provider that there is."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.providers import Provider, load
from tests.providers import slow_words
from tests.providers.agy_kit import Program
from tests.providers.contract import ACTION, SPOKEN, ProviderContract, Stage
from tests.providers.raw_server import RawServer
from tests.providers.voices import VOICES, Voice, status

pytestmark = pytest.mark.thorough

Serve = Callable[..., RawServer]
CODES = {"auth": 401, "rate_limit": 429, "overload": 503}


class HttpStage:
    """A vendor's server on loopback."""

    def __init__(self, voice: Voice, serve: Serve) -> None:
        self._voice, self._serve = voice, serve
        self._servers: list[RawServer] = []

    def _behind(self, *parts: bytes, reply: object = None) -> Provider:
        self._servers.append(self._serve(*parts, reply=reply))
        return self._voice.provider(self._servers[-1].base)

    def answering(self) -> Provider:
        return self._behind(self._voice.whole(SPOKEN, ACTION))

    def silent(self) -> Provider:
        return self._behind(reply=_wait)

    def endless(self) -> Provider:
        def reply(connection: socket.socket) -> None:
            connection.sendall(self._voice.head + self._voice.start)
            while True:
                connection.sendall(self._voice.text("word " * 10))
                time.sleep(0.02)

        return self._behind(reply=reply)

    def cut(self) -> Provider:
        voice = self._voice
        return self._behind(voice.head, voice.start, voice.text(SPOKEN), voice.call(ACTION))

    def failing(self, kind: str) -> Provider:
        return self._behind(status(CODES[kind], self._voice.error("no")))

    def is_free(self) -> bool:
        return not any(server.held for server in self._servers)


def _wait(connection: socket.socket) -> None:
    if not connection.recv(1):
        raise ConnectionResetError


class TestHttp(ProviderContract):
    """openai, anthropic, google, openrouter, ollama."""

    @pytest.fixture(params=VOICES, ids=lambda voice: voice.scheme)
    def stage(self, request: pytest.FixtureRequest, serve: Serve) -> Stage:
        return HttpStage(request.param, serve)


class ScriptedStage:
    """A script stands for the model."""

    def _playing(self, **line: object) -> Provider:
        return load("scripted:s.jsonl", script=json.dumps(line).encode(), env={})

    def answering(self) -> Provider:
        return self._playing(kind="verify", say=SPOKEN)

    def silent(self) -> Provider:
        return self._playing(kind="verify", delay_ms=600_000)

    def endless(self) -> Provider:
        return self._playing(kind="verify", say="word " * 50_000)

    def cut(self) -> Provider:
        return self._playing(error="cut", say=SPOKEN)

    def failing(self, kind: str) -> Provider:
        return self._playing(error=kind)

    def is_free(self) -> bool:
        return True


class TestScripted(ProviderContract):
    """scripted:"""

    @pytest.fixture
    def stage(self) -> Stage:
        return ScriptedStage()


class AgyStage:
    """The program that stands in for AGY, by one of its two ways."""

    def __init__(self, way: str, agy: Callable[..., Provider]) -> None:
        self._way, self._agy = way, agy
        self._made: list[Provider] = []

    def _doing(self, task: str) -> Provider:
        self._made.append(Program(self._agy(self._way), task))
        return self._made[-1]

    def answering(self) -> Provider:
        return self._doing("speak" if self._way == "stdin" else "read verify")

    def silent(self) -> Provider:
        return self._doing("sleep")

    def endless(self) -> Provider:
        return self._doing("endless" if self._way == "stdin" else "endless output")

    def cut(self) -> Provider:
        return self._doing("cut" if self._way == "stdin" else "half")

    def failing(self, kind: str) -> Provider:
        return self._doing(f"fail\n{CODES[kind]}")

    def is_free(self) -> bool:
        return not any(_runs(str(model.where)) for model in self._made)  # type: ignore[attr-defined]


def _runs(program: str) -> bool:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if program.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False


class TestAgy(ProviderContract):
    """cli:agy"""

    @pytest.fixture(params=["stdin", "argument"])
    def stage(self, request: pytest.FixtureRequest, agy: Callable[..., Provider]) -> Stage:
        return AgyStage(request.param, agy)


class TestThirdParty(ProviderContract):
    """One of another package, found by its entry point."""

    @pytest.fixture
    def stage(self, installed: Callable[..., Provider]) -> Iterator[Stage]:
        yield slow_words.Stage(installed)
