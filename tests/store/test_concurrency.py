"""Several processes on one run: nothing is lost, doubled or out of order, and nobody is turned away."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from django.db import connection

from runtime.journal import read
from tests.store.store_kit import claimed, recompute

ROOT = Path(__file__).resolve().parents[2]
PROCESSES, EACH = 4, 100


def _address(kind: str) -> dict[str, str]:
    if kind == "sqlite":
        return {}
    parts = connection.settings_dict
    where = f"{parts['USER']}@{parts['HOST']}:{parts['PORT']}/{parts['NAME']}"
    return {"M31A_DATABASE_URL": f"postgresql://{where}"}


def test_X5_processes_that_append_to_one_run_at_once_leave_no_gap_and_no_double(both):
    claim = claimed()
    command = [
        sys.executable, "-W", "ignore", "-m", "tests.store.appender",
        claim.run, claim.task, str(claim.fence), str(EACH),
    ]  # fmt: skip
    env = {**os.environ, **_address(both)}
    writers = [
        subprocess.Popen(
            command, cwd=ROOT, env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(PROCESSES)
    ]  # fmt: skip
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n", writer.communicate()[1]
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        errors = [writer.communicate(timeout=50)[1] for writer in writers]
    finally:
        for writer in writers:
            writer.kill()
    assert errors == [""] * PROCESSES
    assert [writer.returncode for writer in writers] == [0] * PROCESSES
    recompute(claim.run)
    mine = [event for event in read.every(claim.run) if event.actor.startswith("worker ")]
    assert len(mine) == PROCESSES * EACH
    assert set(Counter(event.actor for event in mine).values()) == {EACH}
    for writer in writers:
        told = [
            event.payload.get("action") or event.payload["why"]
            for event in mine
            if event.actor == f"worker {writer.pid}"
        ]
        assert told == [f"worker {writer.pid} {n}" for n in range(EACH)]
