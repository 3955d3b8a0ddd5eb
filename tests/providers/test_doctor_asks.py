"""`doctor` asks each provider that is set up, for nothing, and never prints a key."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.providers import Status, check
from tests.clock import best_of_three, in_time
from tests.providers.raw_server import KEY, RawServer
from tests.providers.voices import VOICES, Ollama, OpenRouter, Voice, head, status

Serve = Callable[..., RawServer]
every_vendor = pytest.mark.parametrize("voice", VOICES, ids=lambda voice: voice.scheme)
MODELS = {"data": [{"id": "some-model"}], "models": [{"name": "some-model:latest"}]}


def asked(voice: Voice, base: str, model: str = "maker/some-model", **env: str) -> Status:
    settings = {voice.url: base + voice.path, voice.key: KEY, "M31A_PROVIDER": "", **env}
    if model:
        settings["M31A_PROVIDER"] = f"{voice.scheme}:{model}"
    (found,) = check(settings)
    assert KEY not in repr(found)
    return found


@every_vendor
def test_good_key_and_model_are_ready(voice: Voice, serve: Serve) -> None:
    server = serve(status(200, MODELS))
    found = asked(voice, server.base, "some-model" if voice.scheme != "openrouter" else "a/b")
    assert found.ready, found
    assert server.base in found.detail
    (request,) = server.requests
    assert request.startswith(b"GET ")
    assert KEY.encode() in request
    assert KEY.encode() not in request.split(b"\r\n")[0]


@every_vendor
def test_vendor_without_a_model_is_asked_as_well(voice: Voice, serve: Serve) -> None:
    found = asked(voice, serve(status(200, MODELS)).base, "")
    assert found.ready
    assert found.spec == voice.scheme


@every_vendor
@pytest.mark.parametrize(("code", "said"), [(401, "refused the key"), (500, "failed")])
def test_failure_is_told_with_its_remedy_and_without_the_key(
    voice: Voice, serve: Serve, code: int, said: str
) -> None:
    found = asked(voice, serve(status(code, voice.error(f"bad {KEY}"))).base)
    assert not found.ready
    assert said in found.detail
    assert "[key]" in found.detail
    assert code != 401 or voice.key in found.remedy


@every_vendor
def test_server_that_is_silent_or_gone_takes_seconds_at_most(voice: Voice, serve: Serve) -> None:
    with socket.socket() as bound:  # so that nobody else gets it; nobody listens there
        bound.bind(("127.0.0.1", 0))
        found = asked(voice, f"http://127.0.0.1:{bound.getsockname()[1]}")
    assert (found.ready, voice.url in found.remedy) == (False, True)


@pytest.mark.thorough
@best_of_three
def test_all_are_asked_at_once(serve: Serve) -> None:
    def silent(connection: socket.socket) -> None:
        connection.recv(1)

    env = {}
    for voice in VOICES:
        env |= {voice.url: serve(reply=silent).base, voice.key: KEY}
    started = time.monotonic()
    found = check({"M31A_PROVIDER": "", **env})
    in_time(started, 8)
    assert [one.ready for one in found] == [False] * 5
    assert {one.spec for one in found} == {voice.scheme for voice in VOICES}


@pytest.mark.parametrize("body", [b"[]", b"x", b"{" * 100, b""])
def test_answer_that_is_no_list_is_no_success(serve: Serve, body: bytes) -> None:
    server = serve(head("application/json") + body)
    assert not asked(Voice(), server.base).ready


@every_vendor
def test_key_that_a_server_lists_as_its_model_is_not_printed(voice: Voice, serve: Serve) -> None:
    listed = {"data": [{"id": f"x {KEY}"}], "models": [{"name": f"\x1b[2J{KEY}"}], "error": KEY}
    for code in (200, 404, 301):
        asked(voice, serve(status(code, listed, f"Location: http://127.0.0.1:1/{KEY}")).base)


def test_model_that_is_not_there_is_named(serve: Serve) -> None:
    found = asked(Ollama(), serve(status(200, MODELS)).base, "other")
    assert (found.ready, "ollama pull other" in found.remedy) == (False, True)
    found = asked(Voice(), serve(status(200, MODELS)).base, "other")
    assert (found.ready, "does not list other" in found.detail) == (True, True)
    found = asked(Voice(), serve(status(404, {})).base, "other")
    assert found.ready
    found = asked(OpenRouter(), serve(status(404, {})).base, "a/b")
    assert not found.ready


def test_program_of_a_vendor_is_started(agy: Callable[..., Any]) -> None:
    model = agy("stdin")
    env = {
        "PATH": os.environ["PATH"],
        "M31A_PROVIDER": "cli:agy",
        "M31A_AGY_BINARY": model.where,
        "M31A_AGY_HOSTS": "none",
    }
    Path(model.where).write_text("#!/bin/sh\n[ $# = 1 ] && echo 1.2.0\n")
    (found,) = check(env)
    assert found.ready
    assert "1.2.0" in found.detail
    token = "ghp_" + "a1B2" * 9
    Path(model.where).write_text(f"#!/bin/sh\nprintf 'broken \\033[2J {token}' >&2; exit 3\n")
    (found,) = check(env)
    assert (found.ready, "broken" in found.detail) == (False, True)
    assert token not in repr(found) and found.detail.isprintable()


def test_keys_come_from_a_file_of_ones_own(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(f'OPENAI_API_KEY = "{KEY}"\n')
    file.chmod(0o600)
    server = serve(status(200, MODELS))
    env = {"M31A_PROVIDER": "openai:some-model", "OPENAI_BASE_URL": server.url}
    (found,) = check({**env, "M31A_KEYS_FILE": str(file)})
    assert found.ready
    assert KEY.encode() in server.requests[0]
    (found,) = check({**env, "M31A_KEYS_FILE": str(file), "OPENAI_API_KEY": " "})
    assert KEY.encode() in server.requests[1], "a variable that is empty is no key"
    file.chmod(0o640)
    (found,) = check({**env, "M31A_KEYS_FILE": str(file)})
    assert (found.ready, "chmod 600" in found.remedy) == (False, True)
    assert KEY not in json.dumps([found.detail, found.remedy])
