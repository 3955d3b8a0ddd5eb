"""Runs with background jobs: programs, actions, and what holds when all is over."""

from __future__ import annotations

import os
from typing import Any

import psutil

from runtime.models import Delta
from runtime.runs import replay
from tests.kit import Told

TICK = """import sys, time
print("ready", *sys.argv[1:], flush=True)
for count in range(10_000):
    print("tick", count, flush=True)
    time.sleep(0.05)
"""
LOUD = """import sys
for count in range(40_000):
    print(f"line {count:06d} " + "x" * 40)
print("the end", flush=True)
"""
LATE = "import time\ntime.sleep(0.3)\nopen('made.txt', 'w').close()\ntime.sleep(99)\n"
ONCE = "import time\nopen('runs.log', 'a').write('x\\n')\ntime.sleep(987)\n"
FILES = {
    "once.py": ONCE,
    "tick.py": TICK,
    "loud.py": LOUD,
    "notes.txt": "x\n",
    ".gitignore": "*.log\n",
}


def job(program: str, *args: str) -> dict[str, Any]:
    return {"kind": "start_job", "program": program, "args": list(args)}


def output(name: str = "j1") -> dict[str, Any]:
    return {"kind": "job_output", "job": name}


def stop(name: str = "j1") -> dict[str, Any]:
    return {"kind": "stop_job", "job": name}


def living(mark: str) -> list[int]:
    """Processes of this machine with this argument."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if mark in (process.info["cmdline"] or []) and process.info["status"] != "zombie":
            found.append(process.pid)
    return found


def ends(told: Told) -> list[tuple[str, str]]:
    return [(payload["job"], payload["reason"]) for payload in told.of("job.ended")]


def settled(told: Told) -> None:
    """Everything that holds once a run with jobs is over."""
    assert len(told.of("job.started")) == len(told.of("job.ended"))
    assert not Delta.objects.filter(run=told.run.pk).exists()
    assert replay.check(told.run.pk) == ""


MARK = f"mark-{os.getpid()}"
NAP = f"3600.{os.getpid()}"
"""Nobody else's: other tests run at the same time on this machine."""
TICKING = job("python3", "tick.py", MARK)
