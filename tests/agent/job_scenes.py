"""Runs with background jobs: programs, actions, and what holds when all is over."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from runtime.agent.jobs import Job, Jobs
from runtime.models import Delta
from runtime.providers.scripted import ScriptedProvider
from runtime.runs import replay
from tests.agent.scenes import wait_for
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
LATE = """import os, time
while not os.path.exists("go.log"):
    time.sleep(0.02)
open("made.txt", "w").close()
time.sleep(99)
"""
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


def started(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs, each from its start on, as the worker that holds them knows them."""
    jobs: list[Job] = []
    start = Jobs.start

    def noted(self: Jobs, cage: Any, command: Any, job: Job) -> None:
        jobs.append(job)
        start(self, cage, command, job)

    monkeypatch.setattr(Jobs, "start", noted)
    return jobs


def model_waits(monkeypatch: pytest.MonkeyPatch, waits: dict[int, Callable[[], object]]) -> None:
    """Before it gives an answer, by its number from 0 on, the model waits until this is over."""
    decide = ScriptedProvider.decide

    def patient(self: ScriptedProvider, *args: Any, **more: Any) -> Any:
        if wait := waits.get(more["ordinal"]):
            wait()
        return decide(self, *args, **more)

    monkeypatch.setattr(ScriptedProvider, "decide", patient)


def has_printed(job: Job) -> None:
    """Wait until a job has printed anything."""
    wait_for(lambda: job.log.total > 0)


def goes_on(job: Job) -> None:
    """Wait until a job that goes on and on has printed more lines."""
    goal = job.log.total + 40
    wait_for(lambda: job.log.total >= goal)


def ended(job: Job) -> None:
    """Wait until a job is over."""
    wait_for(job.ended.is_set)


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
