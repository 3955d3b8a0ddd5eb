"""`cli:agy` with a program that stands in for the vendor's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.providers import Answer, Facts, Message, Prompt, Provider, load

FAKE = Path(__file__).with_name("fake_agy.py")


def for_task(task: str, *observations: str) -> Prompt:
    seen = [Message("user", text) for text in observations]
    facts = Facts(task, ("pytest", "git"), ("pytest -q",))
    return Prompt("unused", (Message("user", f"Objective:\n{task}"), *seen), facts)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of credentials, of an account that is not root."""
    folder = tmp_path / "agy-home"
    folder.mkdir(mode=0o700)
    (folder / "token.json").write_text("{}")
    if os.geteuid() == 0:
        os.chown(folder, 54321, 54321)
    return folder


@pytest.fixture
def agy(tmp_path: Path, home: Path) -> Callable[..., Provider]:
    """The provider with the fake as its program."""

    def make(way: str = "stdin", name: str = "agy", **more: str) -> Provider:
        program = tmp_path / name
        shutil.copy(FAKE, program)
        program.chmod(0o755)
        env = {
            "PATH": os.environ["PATH"],
            "M31A_AGY_BINARY": str(program),
            "M31A_AGY_HOME": str(home),
            "M31A_AGY_PROMPT": way,
            "M31A_AGY_HOSTS": "none",
            **more,
        }
        return load("cli:agy", env=env)

    return make


class Program:
    """The provider, always asked to do one thing, whatever the prompt is."""

    def __init__(self, inner: Provider, task: str) -> None:
        self.spec = inner.spec
        self.where = inner.where  # type: ignore[attr-defined]
        self._inner, self._task = inner, task

    def decide(self, prompt: Prompt, **given: Any) -> Answer:
        """Ask for that thing."""
        return self._inner.decide(for_task(self._task), **given)
