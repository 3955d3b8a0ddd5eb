"""One installation in a temporary data folder, driven only from outside: commands and signals."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, str(ROOT / "manage.py"), "m31a"]
GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


class Event(NamedTuple):
    """One record, as far as these tests look."""

    type: str
    attempt: int | None
    fence: int | None
    payload: dict[str, Any]


class Installation:
    """A data folder, and at most one `up` on it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.folder = base / "d"
        self.log = base / "up.log"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(base),
            "LANG": "C.UTF-8",
            "M31A_DATA_DIR": str(self.folder),
        }
        self.process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self, *options: str) -> float:
        """`up` on a free port, until it prints its link. Returns the seconds until then."""
        began = time.monotonic()
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "up", "--port", "0", *options],
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"(http://127\.0\.0\.1:\d+)/login/\?link=\S+", line)
        self.process.stdout.close()
        assert found, f"{line!r}\n{self.log.read_text()}"
        self.url = found.group(1)
        return time.monotonic() - began

    def floor(self) -> float:
        """Seconds that a command needs which loads the program and reads one table."""
        began = time.monotonic()
        self.run("approvals")
        return time.monotonic() - began

    def healthy(self, seconds: float = 20.0) -> bool:
        """Whether the site answers in time."""
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"{self.url}/healthz", timeout=seconds) as reply,
        ):
            return bool(reply.status == 200)
        return False

    def processes(self) -> list[psutil.Process]:
        """The supervisor and everything below it."""
        assert self.process is not None
        supervisor = psutil.Process(self.process.pid)
        return [supervisor, *supervisor.children(recursive=True)]

    def commands(self) -> set[str]:
        """What of this program is running."""
        found = set()
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # a command of one of them, that ended
                found.update(process.cmdline()[3:4])
        return found

    def child(self, name: str) -> psutil.Process:
        """The child of the supervisor that runs this command."""
        assert self.process is not None
        for process in psutil.Process(self.process.pid).children():
            if process.cmdline()[3:4] == [name]:
                return process
        raise AssertionError(f"{name} does not run.\n{self.log.read_text()}")

    def stop(self, number: int = signal.SIGINT) -> tuple[int, float]:
        """Signal the supervisor. Returns its exit code and the seconds that it took."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(timeout=20)
        return code, time.monotonic() - began

    def end(self) -> None:
        """After the test, whatever happened."""
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait(timeout=20)

    def run(self, *argv: str, code: int | None = 0) -> str:
        """A command; its standard output. Fails the test on another exit code."""
        done = subprocess.run(
            [*COMMAND, *argv],
            env=self.env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert code is None or done.returncode == code, (
            f"{done.returncode}: {done.stdout}{done.stderr}"
        )
        return done.stdout

    def json(self, *argv: str) -> Any:
        """A command's JSON document."""
        return json.loads(self.run(*argv, "--json"))

    def read(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Look into the database, without a command's cost."""
        with contextlib.closing(
            sqlite3.connect(f"file:{self.folder}/m31a.sqlite3?mode=ro", uri=True)
        ) as link:
            return link.execute(query, values).fetchall()

    def events(self, run: str) -> list[Event]:
        """The journal of a run."""
        rows = self.read(
            "SELECT type, attempt, fence, payload FROM runtime_event WHERE run = ? ORDER BY seq",
            run,
        )
        return [
            Event(type_, attempt, fence, json.loads(text)) for type_, attempt, fence, text in rows
        ]

    def state(self, run: str) -> str:
        """The state of a run."""
        return str(self.read("SELECT state FROM runtime_run WHERE id = ?", run)[0][0])

    def workspace(self) -> None:
        """Register `w`, a git repository with one file."""
        place = self.base / "w"
        place.mkdir()
        for argv in (
            ["init", "-q", "-b", "main"],
            [
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                "one",
            ],
        ):
            subprocess.run(["git", *argv], cwd=place, env=self.env | GIT, check=True)
        self.run("workspace", "add", "w", str(place))

    def submit(self, *lines: dict[str, Any]) -> str:
        """Submit a run that plays these lines; its id."""
        script = self.base / "script.jsonl"
        script.write_text("".join(json.dumps(line) + "\n" for line in lines))
        answer = self.json(
            "submit", "--workspace", "w", "--objective", "o", "--provider", f"scripted:{script}"
        )
        return str(answer["run"])


def alive(processes: list[psutil.Process]) -> list[str]:
    """Those that are still there, zombies not counted."""
    found = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {' '.join(process.cmdline())}")
    return found


def until(condition: Callable[[], Any], seconds: float = 40.0) -> Any:
    """Wait for something to become true, and return it. How long it may take, others judge."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "It did not happen in time."
        time.sleep(0.05)
    return found
