"""The measurements of `durable.py` that need the product in this process, on the site's database."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from datetime import datetime
from threading import Event as Flag
from typing import NamedTuple

from django.db import connections

from runtime import approvals, runs, tasks
from runtime.agent.session import Session
from runtime.journal.append import append
from runtime.journal.kinds import (
    ActionCompleted,
    ActionProposed,
    ActionStarted,
    MessageCompleted,
    PolicyDecided,
    TaskSucceeded,
)
from runtime.journal.read import every
from runtime.journal.rows import EventRow
from runtime.models import Approval, Run, Task
from runtime.people import service
from tests.store.store_kit import a_run, claimed, dead, here

DEATHS = 5
WORK_SECONDS = 0.05
"""What a worker does between its claims, at least: a step of an agent takes longer."""


class Across(NamedTuple):
    """Milliseconds from a submission to the first event of a worker, from an answer to the next
    claim, and from a worker's death to the next claim."""

    starts: list[float]
    resumes: list[float]
    deaths: list[float]


def _submit(*lines: dict[str, object]) -> Run:
    wish = runs.Submission(
        workspace="w",
        objective="Measure.",
        by=service.default_user(),
        provider="scripted:bench",
        script="".join(json.dumps(line) + "\n" for line in lines).encode(),
    )
    return runs.submit(wish).run


def _until(what: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            raise SystemExit("the site did not do its work")
        time.sleep(0.01)


def _events(run: Run, type_: str) -> list[EventRow]:
    return [event for event in every(run.pk) if event.type == type_]


def _ms(first: str, second: str) -> float:
    return (datetime.fromisoformat(second) - datetime.fromisoformat(first)).total_seconds() * 1000


def across_processes(samples: int) -> Across:
    """On a running site: runs that ask, are answered and finish; then runs whose worker dies."""
    found = Across([], [], [])
    finish = {"kind": "finish", "summary": "done"}
    for _ in range(samples):
        run = _submit({"kind": "ask_human", "question": "Go on?"}, finish)
        _until(lambda run=run: Approval.objects.filter(run=run).exists())  # type: ignore[misc]
        found.starts.append(_ms(every_first(run).at, _events(run, "task.claimed")[0].at))
        asked = Approval.objects.get(run=run)
        approvals.decide(asked.pk, by=service.default_user(), verdict="approve", comment="Yes.")
        _until(lambda run=run: Run.objects.get(pk=run.pk).ended_at)  # type: ignore[misc]
        (answer,) = _events(run, "approval.approved")
        found.resumes.append(_ms(answer.at, _events(run, "task.claimed")[1].at))
    for _ in range(DEATHS):
        run = _submit({"kind": "list_files", "delay_ms": 1500}, finish)
        _until(lambda run=run: _events(run, "task.claimed"))  # type: ignore[misc]
        time.sleep(0.3)
        holder = int(_events(run, "task.claimed")[0].payload["owner"].split("/")[2])
        os.kill(holder, signal.SIGKILL)
        killed = time.time()
        _until(lambda run=run: len(_events(run, "task.claimed")) == 2)  # type: ignore[misc]
        again = datetime.fromisoformat(_events(run, "task.claimed")[1].at).timestamp()
        found.deaths.append((again - killed) * 1000)
        _until(lambda run=run: Run.objects.get(pk=run.pk).ended_at)  # type: ignore[misc]
    return found


def every_first(run: Run) -> EventRow:
    """The first event of a run."""
    return next(iter(every(run.pk)))


def claims(workers: int, runs: int, work: float = WORK_SECONDS) -> list[float]:
    """Milliseconds of each claim, where several processes claim, work on (for so many seconds)
    and end the tasks of many runs."""
    for _ in range(runs):
        a_run()
    connections.close_all()
    pipes = []
    for _ in range(workers):
        read, write = os.pipe()
        if os.fork() == 0:
            os.close(read)
            with os.fdopen(write, "w") as out:
                json.dump(_claim_all(work), out)
            os._exit(0)
        os.close(write)
        pipes.append(read)
    times: list[float] = []
    for read in pipes:
        with os.fdopen(read) as file:
            times += json.load(file)
        os.wait()
    if len(times) != runs:
        raise SystemExit(f"{runs} tasks, {len(times)} claims")
    return times


def _claim_all(work: float) -> list[float]:
    owner, times = here(), []
    while Task.objects.filter(state="ready").exists():
        began = time.perf_counter()
        claim = tasks.claim(owner)
        took = (time.perf_counter() - began) * 1000
        if claim is not None:
            times.append(took)
            time.sleep(work)
            with tasks.held(claim) as hold:
                hold.move("succeeded", TaskSucceeded(summary=""))
    return times


def appends(count: int) -> list[float]:
    """Milliseconds of appending one event."""
    claim = claimed()
    times = []
    for number in range(count):
        event = ActionStarted(action=f"a{number}", kind="verify")
        began = time.perf_counter()
        append(claim.by(), [event], task={"fence": claim.fence})
        times.append((time.perf_counter() - began) * 1000)
    return times


def recoveries(events: int, times: int) -> list[float]:
    """Milliseconds from the reaper's look at a dead worker's lease to the folded state of its run
    of so many events, in the hands of the next."""
    claim = claimed(owner=dead())
    step = 0
    while Run.objects.values_list("event_seq", flat=True).get(pk=claim.run) < events:
        step += 1
        append(claim.by(), _step(f"{claim.task}.{step}", step), task={"steps": step})
    Run.objects.filter(pk=claim.run).update(max_attempts=1000)
    found = []
    for _ in range(times):
        began = time.perf_counter()
        tasks.reap()
        again = tasks.claim(dead(), run=claim.run)
        assert again is not None
        Session(again, stop=Flag(), cancel=Flag(), lost=Flag()).close()
        found.append((time.perf_counter() - began) * 1000)
    return found


def _step(action: str, number: int) -> list[object]:
    """The five events of one action, as large as they are in life."""
    shown = "line of an output\n" * 40
    body = {"kind": "run_tool", "program": "ls", "args": ["-l", "src"]}
    stages = [[f"stage {n}", "pass", "nothing to say about this", ""] for n in range(11)]
    return [
        MessageCompleted(message=action, step=number, text=shown, model="m", input_tokens=900,
                         output_tokens=90, estimated=False),
        ActionProposed(action=action, kind="run_tool", step=number, body=body),
        PolicyDecided(
            action=action, kind="run_tool", decision="ALLOW", rule="default", source="default",
            reason="it only reads", risk="low", mutation=False, effects=[], stages=stages,
            key="k" * 64, digest="d" * 64, policy_hash="p" * 64,
        ),
        ActionStarted(action=action, kind="run_tool", program="ls"),
        ActionCompleted(action=action, kind="run_tool", ok=True, observation=shown),
    ]  # fmt: skip
