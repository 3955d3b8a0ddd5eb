"""The command line as it is used: processes of `manage.py m31a`, on a data folder of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.kit import repository, with_remote

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """NDJSON on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class M31A:
    """`m31a` with a data folder; scripts and files are put beside it."""

    place: Path
    settings: dict[str, str] = field(default_factory=dict)
    count: int = 0

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.place / "data"

    def environment(self, **more: str) -> dict[str, str]:
        """Nothing of the test's own settings."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("M31A_", "OPENAI_"))}
        return {**kept, "M31A_DATA_DIR": str(self.data), **self.settings, **more}

    def command(self, *words: str) -> list[str]:
        """What is executed."""
        return [sys.executable, str(ROOT / "manage.py"), "m31a", *words]

    def __call__(self, *words: str, stdin: str | bytes = "", **settings: str) -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            self.command(*words),
            cwd=self.place,
            env=self.environment(**settings),
            input=data,
            capture_output=True,
            timeout=50,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in err, err
        return Done(done.returncode, out, err)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A command that goes on while others run."""
        return subprocess.Popen(
            self.command(*words),
            cwd=self.place,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def script(self, *steps: dict[str, Any] | str) -> str:
        """A `scripted:` provider of these lines."""
        self.count += 1
        path = self.place / f"script{self.count}.jsonl"
        lines = [step if isinstance(step, str) else json.dumps(step) for step in steps]
        path.write_text("".join(f"{line}\n" for line in lines))
        return f"scripted:{path}"

    def submit(self, *steps: dict[str, Any], more: tuple[str, ...] = ()) -> Done:
        """Submit a run that follows a script, as alice, with a JSON answer."""
        return self(
            "submit", "--workspace", "work", "--objective", "Do it.", "--provider",
            self.script(*steps), "--json", "--as", "alice", *more,
        )  # fmt: skip


@pytest.fixture
def bare() -> Iterator[M31A]:
    """A place where nothing was set up."""
    place = Path(tempfile.mkdtemp(prefix="m31a-cli-"))
    yield M31A(place)
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="session")
def m31a() -> Iterator[M31A]:
    """A data folder with alice (submits), bob (reviews), sol (security) and the workspace `work`."""
    place = Path(tempfile.mkdtemp(prefix="m31a-cli-"))
    made = M31A(place)
    try:
        for name, *roles in (
            ("alice", "submitter", "admin"),
            ("bob", "reviewer"),
            ("sol", "security"),
        ):
            words = [word for role in roles for word in ("--role", role)]
            assert made("user", "add", name, *words).code == 0
        root = repository()
        with_remote(root)
        added = made("workspace", "add", "work", str(root), "--verify", "grep -q . notes.txt")
        assert added.code == 0, added.err
        yield made
    finally:
        shutil.rmtree(place, ignore_errors=True)
