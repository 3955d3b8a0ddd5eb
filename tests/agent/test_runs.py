"""Runs and their tasks: submitted once, read without effect, ended once, retried when asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import runs, tasks
from runtime.cli import main as cli
from runtime.core.errors import BadInput, Refused
from runtime.journal import read, verify
from runtime.journal.kinds import TaskCancelled
from runtime.models import Event, Run, Task, Trace
from runtime.people import service
from runtime.runs import replay
from runtime.worker import inline
from tests.agent.dying import start
from tests.agent.scenes import cancel_at, happened, task, tool, tree, wait_for
from tests.kit import FINISH, play, repository, submit, workspace

ROOT = Path(__file__).parents[2]


def elsewhere(*words: str) -> subprocess.CompletedProcess[str]:
    """The command line, in a process of its own, on the same data folder."""
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "m31a", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
    )


def counts() -> tuple[int, int, int]:
    return Event.objects.count(), Run.objects.count(), Task.objects.count()


def test_R1_the_same_key_twice_is_the_first_run_and_writes_nothing(cast):
    workspace(cast.alice)
    first = submit(cast.alice, [FINISH], key="once")
    before = counts()
    second = submit(cast.alice, [tool("true"), FINISH], key="once")
    assert second.run.pk == first.run.pk
    assert counts() == before


def test_R1_the_key_of_somebody_elses_run_is_refused(cast):
    workspace(cast.alice)
    submit(cast.alice, [FINISH], key="once")
    carol = service.add("carol", ["submitter"], by=None)
    before = counts()
    with pytest.raises(BadInput) as refused:
        submit(carol, [FINISH], key="once")
    assert refused.value.field == "key"
    assert counts() == before


def test_R3_cancelled_stays_cancelled_after_a_restart(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [tool("true"), FINISH])
    runs.cancel(told.run.pk, cast.alice)
    assert told.state == "cancelled"
    before = len(told.events)
    done = elsewhere("work", "--until-idle")
    assert done.returncode == 0, done.stderr
    assert told.state == "cancelled" and told.reason == "cancelled"
    assert len(told.events) == before


def test_R4_status_of_a_running_task_recovers_nothing_and_the_cancel_sticks(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [tool("true"), FINISH])
    claim = tasks.claim("elsewhere/boot/1/1/abcd")
    assert claim is not None
    before = len(told.events)
    assert runs.status(told.run.pk)["tasks"][0]["state"] == "running"
    assert len(told.events) == before
    runs.cancel(told.run.pk, cast.alice)
    assert task(told).state == "cancelling"
    assert runs.status(told.run.pk)["state"] == "running"
    with tasks.held(claim, states=("cancelling",)) as hold:
        hold.move("cancelled", TaskCancelled())
    assert told.state == "cancelled"


WAIT = """import pathlib, time
while not pathlib.Path("go").exists():
    time.sleep(0.02)
"""


def test_X1_submit_and_status_leave_the_task_of_a_living_worker_alone(cast, capsys):
    """Also a worker in this process, which `submit --wait` may be."""
    workspace(cast.alice, repository({"wait.py": WAIT, ".gitignore": "go\n"}))
    told = submit(cast.alice, [tool("python3", "wait.py"), FINISH])
    other = start(run=told.run.pk)
    try:
        wait_for(lambda: happened(told, "action.started"))
        before = (len(told.events), task(told).fence, task(told).lease_owner)
        assert cli.run(["status"], None, True) == cli.run(["status", told.run.pk], None, True) == 0
        again = play(cast.alice, [FINISH])
        assert cli.run(["status"], None, True) == 0
        assert again.state == "succeeded", "this process took its own run"
        assert (len(told.events), task(told).fence, task(told).lease_owner) == before
        assert '"state": "running"' in capsys.readouterr().out
    finally:
        (tree(told) / "go").touch()
        os.waitpid(other, 0)
    assert told.state == "succeeded", "and the other worker ended what it had begun"
    assert (task(told).attempt, task(told).crashes, task(told).fence) == (1, 0, 1)
    assert told.types.count("task.claimed") == 1
    assert not {"task.lease_expired", "action.outcome_unknown"} & set(told.types)


def test_R5_reading_a_running_task_does_not_grow_the_log(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [tool("true"), FINISH])
    assert tasks.claim("elsewhere/boot/1/1/abcd")
    before = counts(), told.run.event_seq
    runs.status(told.run.pk)
    runs.summaries()
    runs.report(told.run.pk)
    assert runs.diff(told.run.pk) == ""
    assert len(list(read.every(told.run.pk))) == 3
    assert replay.check(told.run.pk) == ""
    assert verify.verify(told.run.pk)["ok"]
    assert (counts(), told.run.event_seq) == before


def test_R6_an_ended_task_is_not_cancelled_completed_or_retried(cast):
    workspace(cast.alice)
    told = play(cast.alice, [FINISH])
    before = counts()
    for wish in (
        lambda: runs.cancel(told.run.pk, cast.alice),
        lambda: runs.retry(told.run.pk, cast.alice, 5),
    ):
        with pytest.raises(Refused) as refused:
            wish()
        assert "succeeded" in str(refused.value)
    told.work()
    assert counts() == before


def test_R7_a_task_whose_command_exits_0_succeeds_and_stays_so(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("true"), FINISH])
    assert told.state == "succeeded"
    assert tasks.idle() and tasks.ready_count() == 0
    done = elsewhere("status", told.run.pk, "--json")
    assert '"succeeded"' in done.stdout
    assert inline.work(until_idle=True) == 0
    assert told.types[-1] == "run.succeeded"


def test_R10_retries_are_bounded_by_the_caller_and_count_attempts(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("true"), tool("false"), FINISH], max_steps=1)
    assert (told.state, told.reason) == ("failed", "step_limit")
    assert tasks.idle(), "nothing is retried unasked"
    runs.retry(told.run.pk, cast.alice, 2)
    told.work()
    assert told.state == "failed"
    with pytest.raises(Refused) as refused:
        runs.retry(told.run.pk, cast.alice, 2)
    assert "2 of 2" in str(refused.value)
    traces = Trace.objects.filter(run=told.run.pk).order_by("seq")
    assert list(traces.values_list("attempt", "program")) == [(1, "true"), (2, "false")]
    assert replay.check(told.run.pk) == ""


def test_X11_a_cancel_on_the_last_permitted_step_is_a_cancel(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [tool("sleep", "20"), FINISH], max_steps=1)
    with cancel_at(told, "action.started", cast.alice):
        told.work()
    assert (told.state, told.reason) == ("cancelled", "cancelled")
    assert "task.failed" not in told.types
