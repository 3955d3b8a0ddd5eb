"""The same from outside: real commands with a plan in their environment."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durable.scene import FREE, LEDGER
from tests.kit import repository
from tests.worker.installation import COMMAND, Installation

APPEND = {"kind": "run_shell", "script": f"echo {FREE} >> {LEDGER}"}
LIST = {"kind": "list_files"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path)
    try:
        yield made
    finally:
        made.end()


def test_F42_a_worker_of_the_command_line_dies_by_its_environment(place: Installation):
    root = repository({".gitignore": "*.log\n"})
    place.run("workspace", "add", "w", str(root))
    run = place.submit(LIST, APPEND, LIST)
    plan = {"M31A_FAULTS": "step.after_effect=kill@2"}
    work = [*COMMAND, "work", "--once"]
    refused = subprocess.run(work, env=place.env | plan, capture_output=True, text=True)
    assert refused.returncode == 2 and "not allowed" in refused.stderr
    died = subprocess.run(
        work, env=place.env | plan | {"M31A_ALLOW_FAULTS": "1"}, capture_output=True, text=True
    )
    assert died.returncode == -signal.SIGKILL
    place.run("work", "--once")
    types = [event.type for event in place.events(run)]
    assert types.count("action.outcome_unknown") == 1
    assert types.count("task.claimed") == 2
    (ledger,) = (place.folder / "runs" / run).rglob(LEDGER)
    assert ledger.read_text() == f"{FREE}\n"
    assert place.json("audit", "verify", run)["ok"]
    place.run("replay", "--all", "--check")


def test_B30_many_processes_begin_on_a_folder_where_there_is_nothing_yet(place: Installation):
    """All make and migrate the database at once; the first switch to WAL is done by one of them."""
    adds = [[*COMMAND, "user", "add", f"u{number}", "--role", "submitter"] for number in range(8)]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(add, env=place.env, **streams) for add in adds]
    said = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0] * 8, said
    names = {row[0] for row in place.read("SELECT username FROM runtime_user")}
    assert {f"u{number}" for number in range(8)} <= names
    assert place.read("PRAGMA journal_mode") == [("wal",)]
    assert place.json("audit", "verify", "system")["ok"]
