"""The scripted server fails as its script says, and refuses what is no request."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from runtime.core.errors import BadInput
from runtime.providers import ProviderError
from runtime.providers.scripted_server import ScriptedServer
from tests.providers.raw_server import ask, provider

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "kind",
    ["auth", "rate_limit", "overload", "context_length", "bad_request", "cut", "malformed"],
)
def test_error_line_fails_as_a_real_server_would(kind: str) -> None:
    with (
        ScriptedServer(b'{"error": "%s"}' % kind.encode()) as server,
        pytest.raises(ProviderError) as failure,
    ):
        ask(provider(server.base_url))
    assert failure.value.kind == kind


@pytest.mark.parametrize("kind", ["cut", "malformed", "refusal"])
def test_error_line_with_text_fails_in_the_middle(kind: str) -> None:
    with (
        ScriptedServer(b'{"error": "%s", "say": "I begin"}' % kind.encode()) as server,
        pytest.raises(ProviderError) as failure,
    ):
        ask(provider(server.base_url))
    assert (failure.value.kind, failure.value.partial) == (kind, "I begin")


def test_M1_requests_counted_and_a_script_that_is_over_is_an_error() -> None:
    with ScriptedServer(b'{"kind": "verify"}', count="requests") as server:
        model = provider(server.base_url)
        assert ask(model).action == {"kind": "verify"}
        with pytest.raises(ProviderError, match="no further line"):
            ask(model)
        assert len(server.exchanges) == 2


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", b"{", 400),
        ("/v1/chat/completions", b"{}", 400),
        ("/v1/completions", b'{"messages": []}', 404),
    ],
)
def test_request_that_is_none_is_refused(path: str, body: bytes, status: int) -> None:
    with ScriptedServer(b'{"kind": "verify"}') as server:
        client = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=20)
        client.request("POST", path, body)
        assert client.getresponse().status == status
        client.close()
        assert not server.exchanges


def test_bad_script_starts_no_server() -> None:
    with pytest.raises(BadInput, match="Line 1"):
        ScriptedServer(b"{}")


def test_server_runs_as_a_program_and_ends_on_a_signal(tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('{"kind": "verify"}\n')
    program = [sys.executable, "-m", "runtime.providers.scripted_server", str(script)]
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert ask(provider(url)).action == {"kind": "verify"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_program_with_a_bad_script_ends_with_2(tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text("{}\n")
    program = [sys.executable, "-m", "runtime.providers.scripted_server", str(script)]
    ended = subprocess.run(
        program, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False
    )
    assert ended.returncode == 2
    assert "Line 1" in ended.stderr
