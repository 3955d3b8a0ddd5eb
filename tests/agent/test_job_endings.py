"""Every way in which a background job ends: with the task, the hold, the worker, a question."""

from __future__ import annotations

import threading
from uuid import uuid4

import pytest
from django.conf import settings

from runtime import runs, tasks
from runtime.agent import driver
from runtime.agent import session as hold
from runtime.faults import plan as fault_plan
from runtime.worker import slices
from tests.agent.dying import die_after, kill_when, work_and_die
from tests.agent.job_scenes import (
    FILES,
    LATE,
    MARK,
    TICKING,
    ends,
    has_printed,
    job,
    living,
    model_waits,
    output,
    settled,
    started,
    stop,
)
from tests.agent.scenes import (
    Meanwhile,
    answer,
    cancel_at,
    happened,
    holds,
    seen,
    task,
    tool,
    tree,
    wait_for,
    write,
)
from tests.kit import FINISH, VERIFY, play, repository, submit, workspace


def test_E14_the_end_of_the_task_ends_its_jobs(cast):
    workspace(cast.alice, repository(FILES))
    told = play(cast.alice, [TICKING, FINISH])
    assert told.state == "succeeded", told.reason
    assert ends(told) == [("j1", "finish")]
    assert told.types.index("job.ended") < told.types.index("task.succeeded")
    assert living(MARK) == []
    settled(told)


def test_E14_a_task_that_fails_ends_its_jobs(cast):
    workspace(cast.alice, repository(FILES))
    told = play(cast.alice, [TICKING, {"error": "the model is gone"}])
    assert told.state == "failed"
    assert ends(told) == [("j1", "task_failed")]
    assert living(MARK) == []
    settled(told)


def test_a_full_disk_keeps_no_task_and_no_job_from_its_end(cast, monkeypatch):
    script = f"import time\nprint('{uuid4()}', flush=True)\ntime.sleep(60)\n"
    workspace(cast.alice, repository({**FILES, "new.py": script}))
    start = {"kind": "start_job", "program": "python3", "args": ["new.py"]}
    told = submit(cast.alice, [start, {"error": "the model is gone"}])
    jobs = started(monkeypatch)
    model_waits(monkeypatch, {1: lambda: has_printed(jobs[0])})
    monkeypatch.setattr(fault_plan, "_plan", fault_plan.parse("blob.before_fsync=full"))
    told.work()
    assert (told.state, told.reason) == ("failed", "provider_malformed")
    assert ends(told) == [("j1", "task_failed")]
    ended = told.last("job.ended")
    assert ended["characters"] > 0 and not ended.get("artifacts")
    assert task(told).attempt == 1


def test_a_full_disk_ends_the_run_and_says_so(cast, monkeypatch):
    workspace(cast.alice, repository(FILES))
    told = submit(cast.alice, [write("notes.txt", "x"), VERIFY, FINISH])
    monkeypatch.setattr(fault_plan, "_plan", fault_plan.parse("blob.before_fsync=full"))
    told.work()
    assert (told.state, told.reason) == ("failed", "disk_full")
    assert str(settings.M31A.DATA_DIR) in told.last("task.failed")["detail"]
    monkeypatch.setattr(fault_plan, "_plan", {})
    runs.retry(told.run.pk, by=cast.alice)
    assert told.work().state == "succeeded"


def test_E14_a_cancellation_ends_the_jobs(cast):
    workspace(cast.alice, repository(FILES))
    told = submit(cast.alice, [TICKING, tool("sleep", "30"), FINISH])
    with cancel_at(told, "job.started", cast.alice):
        told.work()
    assert told.state == "cancelled"
    assert ends(told) == [("j1", "cancelled")]
    assert told.types[-2:] == ["task.cancelled", "run.cancelled"]
    assert living(MARK) == []
    settled(told)


def test_E14_a_cancellation_while_the_model_thinks_ends_the_jobs(cast):
    workspace(cast.alice, repository(FILES))
    told = submit(cast.alice, [TICKING, {**FINISH, "delay_ms": 20_000}])
    with cancel_at(told, "job.started", cast.alice):
        told.work()
    assert told.state == "cancelled"
    assert ends(told) == [("j1", "cancelled")]
    settled(told)


def test_E14_a_job_whose_worker_died_is_lost_and_not_started_again(cast):
    workspace(cast.alice, repository(FILES))
    told = submit(
        cast.alice,
        [job("python3", "once.py", MARK), tool("sleep", "60"), output(), stop(), FINISH],
    )  # fmt: skip
    kill_when(
        lambda: (
            len(told.of("action.started")) >= 2
            and happened(told, "job.started")
            and holds(tree(told) / "runs.log", "x\n")
        )
    )
    told.work()
    assert told.state == "succeeded", told.reason
    assert ends(told) == [("j1", "lost")]
    assert (tree(told) / "runs.log").read_text() == "x\n", "it ran once"
    assert sum("is lost" in text for text in seen(told)) == 2
    wait_for(lambda: living(MARK) == [])
    settled(told)


def test_a_start_that_the_worker_did_not_survive_is_of_unknown_outcome(cast, monkeypatch):
    workspace(cast.alice, repository(FILES))
    told = submit(cast.alice, [TICKING, FINISH])
    work_and_die(lambda: monkeypatch.setattr(driver, "execute", die_after(driver.execute)))
    told.work()
    assert told.last("action.outcome_unknown")["kind"] == "start_job"
    wait_for(lambda: living(MARK) == [])
    assert told.of("job.started") == []
    settled(told)


def test_a_verification_ends_the_jobs_first_and_says_so(cast):
    workspace(cast.alice, repository(FILES))
    told = play(cast.alice, [TICKING, write("a.txt", "a"), VERIFY, FINISH])
    assert told.state == "succeeded", told.reason
    assert ends(told) == [("j1", "verify")]
    assert "Background jobs were ended before: j1" in seen(told)[2]
    assert told.types.index("job.ended") < told.types.index("verification.passed")
    settled(told)


def test_A14_what_a_job_writes_after_the_verification_opens_the_debt(cast, monkeypatch):
    workspace(cast.alice, repository({"late.py": LATE, ".gitignore": "*.log\n"}))
    told = submit(
        cast.alice,
        [write("a.txt", "a"), VERIFY, job("python3", "late.py"), FINISH, VERIFY, FINISH],
    )

    def go() -> None:
        (tree(told) / "go.log").touch()
        wait_for((tree(told) / "made.txt").exists)

    model_waits(monkeypatch, {3: go})
    told.work()
    assert told.types.count("finish.refused") == 1
    assert "debt" in told.last("finish.refused")["reason"]
    assert told.state == "succeeded"
    assert told.last("delivery.completed")["files"] == 2


def test_a_question_to_a_person_ends_the_jobs_for_no_worker_is_held(cast, monkeypatch):
    workspace(cast.alice, repository(FILES))
    jobs = started(monkeypatch)
    model_waits(monkeypatch, {1: lambda: has_printed(jobs[0])})
    told = play(cast.alice, [TICKING, tool("rm", "-r", "notes.txt"), output(), FINISH])
    assert told.state == "waiting"
    assert ends(told) == [("j1", "waiting")]
    assert living(MARK) == []
    answer(told, cast.bob, verdict="deny")
    told.work()
    assert told.state == "succeeded"
    assert any("the task waited for a person" in text for text in seen(told))
    assert any("is artifact" in text for text in seen(told))
    settled(told)


def test_a_slice_does_not_end_while_a_job_lives(cast, monkeypatch):
    monkeypatch.setattr(settings.M31A, "SLICE_SECONDS", 0.01)
    workspace(cast.alice, repository(FILES))
    told = play(cast.alice, [TICKING, *[tool("true")] * 3, stop(), *[tool("true")] * 2, FINISH])
    assert ends(told) == [("j1", "stopped")]
    claims = [event.seq for event in told.events if event.type == "task.claimed"]
    start, end = (
        next(event.seq for event in told.events if event.type == type_)
        for type_ in ("job.started", "job.ended")
    )
    assert not [seq for seq in claims if start < seq < end], "one hold, as long as it lives"
    assert len([seq for seq in claims if seq > end]) >= 2, "afterwards slices are short again"


@pytest.mark.thorough
def test_a_slice_with_a_job_ends_at_its_bound_and_ends_the_job(cast, monkeypatch):
    monkeypatch.setattr(settings.M31A, "SLICE_SECONDS", 0.01)
    monkeypatch.setattr(hold, "JOB_SLICE_SECONDS", 1.0)
    workspace(cast.alice, repository(FILES))
    told = play(cast.alice, [TICKING, tool("sleep", "1.2"), output(), FINISH])
    assert ends(told) == [("j1", "slice")]
    assert "the worker gave the task back" in seen(told)[2]
    assert told.state == "succeeded"
    settled(told)


@pytest.mark.thorough
def test_a_slice_with_a_job_leaves_room_for_a_whole_verification(cast, monkeypatch):
    """Two minutes for each of two commands: of 241 seconds, one is left before them."""
    monkeypatch.setattr(settings.M31A, "SLICE_SECONDS", 0.01)
    monkeypatch.setattr(hold, "LONGEST_HOLD", 241.0)
    workspace(cast.alice, repository(FILES), verify=("true", "true"))
    told = play(cast.alice, [TICKING, tool("sleep", "1.2"), output(), FINISH])
    assert ends(told) == [("j1", "slice")]
    assert told.state == "succeeded"
    settled(told)


def test_a_stop_of_the_worker_ends_the_job_and_uses_up_no_attempt(cast):
    workspace(cast.alice, repository(FILES))
    told = submit(cast.alice, [TICKING, tool("sleep", "20"), FINISH])
    halt = threading.Event()
    claim = tasks.claim("test")
    assert claim is not None
    with Meanwhile(told, "job.started", halt.set):
        slices.drive(claim, halt)
    assert ends(told) == [("j1", "stop")]
    assert told.last("task.released")["why"] == "stop"
    told.work()
    assert told.state == "succeeded" and task(told).attempt == 1
    settled(told)


def test_a_cancelled_run_stays_cancelled_when_a_job_was_about_to_start(cast):
    workspace(cast.alice, repository(FILES))
    told = submit(cast.alice, [TICKING, FINISH])
    with Meanwhile(told, "action.started", lambda: runs.cancel(told.run.pk, cast.alice)):
        told.work()
    assert told.state in ("cancelled", "succeeded")
    assert living(MARK) == []
    settled(told)


@pytest.mark.parametrize("mode", ["plan", "safe"])
def test_jobs_are_judged_by_the_mode_as_commands_are(cast, mode):
    workspace(cast.alice, repository(FILES))
    told = play(cast.alice, [TICKING, FINISH], mode=mode)
    assert told.of("job.started") == []
    assert told.state == ("waiting" if mode == "safe" else "succeeded")
