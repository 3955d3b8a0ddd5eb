"""Whole runs through a vendor's protocol and a vendor's program, in the product as it is."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime import runs
from tests.kit import Cast, Told, workspace
from tests.providers.agy_kit import FAKE
from tests.providers.raw_server import KEY, RawServer
from tests.providers.voices import VOICES, Voice, status

Serve = Callable[..., RawServer]
EDIT = {
    "kind": "replace_text",
    "path": "notes.txt",
    "expected": "first line",
    "replacement": "changed",
}
VERIFY = {"kind": "verify"}
FINISH = {"kind": "finish", "summary": "done"}


def submit(by: Any, provider: str) -> Told:
    wish = runs.Submission(workspace="work", objective="Mend it.", by=by, provider=provider)
    return Told(runs.submit(wish).run)


@pytest.mark.thorough
@pytest.mark.parametrize("voice", VOICES, ids=lambda voice: voice.scheme)
def test_run_is_driven_by_every_vendor(
    voice: Voice, serve: Serve, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [EDIT, VERIFY, FINISH]
    server = serve()

    def reply(connection: socket.socket) -> None:
        connection.sendall(voice.whole("I go on. ", steps[len(server.requests) - 1]))

    server.reply = reply
    monkeypatch.setenv(voice.url, server.base + voice.path)
    monkeypatch.setenv(voice.key, KEY)
    workspace(cast.alice)
    told = submit(cast.alice, f"{voice.scheme}:maker/model").work()
    assert told.state == "succeeded", told.observations()
    said = [payload["text"] for payload in told.of("message.completed")]
    assert said == ["I go on. "] * 3
    spent = [payload["input_tokens"] for payload in told.of("message.completed")]
    assert spent == [812] * 3
    assert KEY not in repr(told.events)


@pytest.mark.parametrize("voice", VOICES, ids=lambda voice: voice.scheme)
def test_K4_vendor_that_fails_after_a_verified_edit_fails_the_run_and_keeps_the_edit(
    voice: Voice, serve: Serve, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    replies = [
        *(voice.whole("", step) for step in (EDIT, VERIFY)),
        status(503, voice.error("busy")),
        voice.whole("", FINISH),
    ]
    server.reply = lambda connection: connection.sendall(replies[len(server.requests) - 1])
    monkeypatch.setenv(voice.url, server.base + voice.path)
    monkeypatch.setenv(voice.key, KEY)
    workspace(cast.alice)
    told = submit(cast.alice, f"{voice.scheme}:maker/model").work()
    assert (told.state, told.reason) == ("failed", "provider_overload")
    assert len(server.requests) == 3
    runs.retry(told.run.pk, by=cast.alice)
    told.work()
    assert told.state == "succeeded", told.observations()
    assert "verification.passed" in told.types


def test_run_is_driven_by_agy_in_its_cage(
    cast: Cast, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in does what the task says, so the first answer verifies and no more comes of it."""
    program = tmp_path / "agy"
    program.write_text(FAKE.read_text())
    program.chmod(0o755)
    for name, value in {
        "BINARY": program,
        "HOME": home,
        "HOSTS": "none",
        "MODEL": "some-model",
    }.items():
        monkeypatch.setenv(f"M31A_AGY_{name}", str(value))
    workspace(cast.alice)
    wish = runs.Submission(
        workspace="work",
        objective='act\n{"kind": "finish", "summary": "nothing to do"}',
        by=cast.alice,
        provider="cli:agy",
    )
    told = Told(runs.submit(wish).run).work()
    assert told.state == "succeeded", told.observations()
    assert told.last("message.completed")["model"] == "some-model"
    assert os.listdir(home) == ["token.json"]


def test_P11_agy_that_fails_fails_the_run_with_its_words(
    cast: Cast, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "agy"
    program.write_text("#!/bin/sh\necho 'upstream said 503' >&2; exit 1\n")
    program.chmod(0o755)
    for name, value in {"BINARY": program, "HOME": home, "HOSTS": "none"}.items():
        monkeypatch.setenv(f"M31A_AGY_{name}", str(value))
    workspace(cast.alice)
    told = submit(cast.alice, "cli:agy").work()
    assert (told.state, told.reason) == ("failed", "provider_overload")
    assert "action.proposed" not in told.types
