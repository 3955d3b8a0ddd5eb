"""A real model: 135 million parameters, on this machine, through `openai:`. With --thorough."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.core.actions import parse
from runtime.providers import Message, Prompt, check, load, schema_for_prompt
from tests.clock import Late, best_of_three
from tests.providers.contract import ask as ask_with_bounds
from tests.providers.raw_server import ask

pytestmark = [pytest.mark.timeout(600), pytest.mark.thorough]
HERE = Path(__file__).parent
LOCK = HERE / "local-model.lock"
SYSTEM = "You are a software engineer. Answer with one action.\n"


def installed() -> Path:
    """A Python of its own with the server and the weights, kept between runs of the tests."""
    stamp = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "m31a-tests"
    folder = cache / f"local-model-{stamp}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            base = Path(sys.base_prefix) / "bin" / "python3"
            python = folder / "bin" / "python"
            install = ["-m", "pip", "install", "-q", "--no-deps", "--require-hashes", "-r"]
            for command in ([base, "-m", "venv", "--clear", folder], [python, *install, LOCK]):
                subprocess.run([str(word) for word in command], check=True, timeout=500)
            (folder / "whole").touch()
    return folder


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The base URL of the model's server."""
    if platform.system() != "Linux":
        pytest.skip("the server's packages are pinned for Linux")
    folder = installed()
    (weights,) = folder.rglob("*.gguf")
    program = [str(folder / "bin" / "python"), str(HERE / "local_server.py"), str(weights)]
    with subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        yield f"{address}/v1"
        process.kill()


def env(url: str, mode: str) -> dict[str, str]:
    return {"OPENAI_BASE_URL": url, "M31A_OPENAI_MODE": mode, "M31A_PROVIDER": "openai:smollm2"}


@best_of_three
def test_real_model_streams_its_words(url: str) -> None:
    model = load("openai:smollm2", env=env(url, "tools"))
    shown: list[tuple[float, str]] = []
    answer = ask(
        model,
        prompt=Prompt(SYSTEM, (Message("user", "Say in words what you would do first."),)),
        on_text=lambda text: shown.append((time.monotonic(), text)),
        timeout=240,
    )
    assert len(shown) > 5
    assert "".join(text for _, text in shown) == answer.text
    assert (answer.usage.estimated, answer.usage.output_tokens > 5) == (False, True)
    if shown[-1][0] - shown[0][0] <= 0.05:
        raise Late("the words came all at once: it may be that nobody took them meanwhile")


def test_real_model_gives_an_action_that_fits_the_schema(url: str) -> None:
    model = load("openai:smollm2", env=env(url, "json"))
    wish = Message("user", "Read the file README.md.")
    answer = ask(model, prompt=Prompt(SYSTEM + schema_for_prompt()[:1200], (wish,)), timeout=240)
    assert answer.error is None
    assert parse(answer.action).body()["kind"] == "read_file"


def test_real_model_stops_when_it_is_cancelled(url: str) -> None:
    model = load("openai:smollm2", env=env(url, "tools"))

    class Enough(Exception):
        """The first word is enough."""

    def on_text(text: str) -> None:
        raise Enough

    with pytest.raises(Enough):
        ask_with_bounds(model, on_text=on_text, timeout=240)
    # It has one slot only: a second question is answered because the first has ended.
    assert ask(model, timeout=240).usage.output_tokens > 0


def test_real_server_is_found_by_doctor(url: str) -> None:
    (found,) = check(env(url, "json"))
    assert found.ready
    assert "has smollm2" in found.detail
