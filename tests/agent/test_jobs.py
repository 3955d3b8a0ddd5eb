"""Background jobs: judged and confined as commands are, bounded, read as they go."""

from __future__ import annotations

import itertools
import re
import threading

import pytest

from runtime.agent import background
from runtime.agent import jobs as job_room
from runtime.agent.jobs import MAX_LIVE
from runtime.models import Delta, Trace
from tests.agent.job_scenes import (
    FILES,
    MARK,
    NAP,
    TICKING,
    ended,
    ends,
    goes_on,
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
    plain,
    seen,
    shell,
    tool,
    wait_for,
)
from tests.kit import FINISH, Told, play, repository, submit, workspace

TICKS = re.compile(r"^tick (\d+)$", re.MULTILINE)


def test_a_job_runs_while_the_model_works_and_is_read_and_stopped(cast, monkeypatch):
    workspace(cast.alice, repository(FILES))
    jobs = started(monkeypatch)
    model_waits(monkeypatch, {number: lambda: goes_on(jobs[0]) for number in (1, 2)})
    told = play(cast.alice, [TICKING, output(), output(), stop(), stop(), output(), FINISH])
    assert told.state == "succeeded", told.reason
    start, first, second, stopped, again, after, _ = seen(told)
    assert "j1 runs since" in start and f"ready {MARK}" in start + first
    ticks = [int(number) for text in (start, first, second) for number in TICKS.findall(text)]
    assert ticks == list(range(len(ticks))), "each piece goes on where the one before ended"
    assert TICKS.findall(first) and TICKS.findall(second)
    assert "j1 was stopped; cancelled" in stopped
    assert "j1 was stopped" in again and "nothing new" in again, "to stop it again is no fault"
    assert "nothing new" in after
    assert ends(told) == [("j1", "stopped")]
    assert living(MARK) == []
    trace = Trace.objects.get(run=told.run.pk, program="python3")
    assert (trace.cancelled, trace.argument_count) == (True, 2)
    settled(told)


def test_a_job_that_ends_by_itself_is_told_with_its_status_and_kept(cast, monkeypatch):
    monkeypatch.setattr(background, "SOON", 20.0)  # it is over as soon as the job is
    workspace(cast.alice, repository({"bye.py": "import sys\nprint('bye')\nsys.exit(3)\n"}))
    told = play(cast.alice, [job("python3", "bye.py"), output(), stop(), FINISH])
    assert ends(told) == [("j1", "exited")]
    ended = told.last("job.ended")
    assert ended["detail"] == "exit status 3" and ended["trace"]["status"] == 3
    assert ended["artifacts"][0]["name"].startswith("output of j1")
    start, _, stopped, _ = seen(told)
    assert "bye" in start
    assert "ended by itself" in stopped, "to stop what has ended is no fault"
    settled(told)


def test_E13_a_job_that_cannot_be_executed_says_so_at_once(cast, monkeypatch):
    monkeypatch.setattr(background, "SOON", 20.0)  # it is over as soon as the job is
    workspace(cast.alice, repository(FILES), allow=["nonesuch-program"])
    told = play(cast.alice, [job("nonesuch-program"), FINISH])
    assert told.state in ("succeeded", "waiting")
    if told.state == "waiting":
        answer(told, cast.bob)
        told.work()
    done = next(p for p in told.of("action.completed") if p["kind"] == "start_job")
    assert done["ok"] is False and "not executed" in plain(done["observation"])
    assert ends(told) == [("j1", "failed")]
    settled(told)


def test_E15_output_past_the_cap_is_read_in_pieces_and_nothing_is_lost_silently(cast, monkeypatch):
    workspace(cast.alice, repository(FILES))
    jobs = started(monkeypatch)
    model_waits(monkeypatch, {1: lambda: ended(jobs[0])})
    told = play(cast.alice, [job("python3", "loud.py"), *[output()] * 3, FINISH])
    start, *pieces, _ = seen(told)
    assert all(len(text) <= 16_000 for text in (start, *pieces))
    assert all("more: ask again" in text for text in pieces)
    total = told.last("job.ended")["characters"]
    assert total == sum(len(f"line {n:06d} " + "x" * 40) + 1 for n in range(40_000)) + 8
    places = [text.split("[characters ")[1].split("]")[0].split(" to ") for text in pieces]
    for (_, end), (begin, _) in itertools.pairwise(places):
        assert int(begin) == int(end) + 1
    kept = told.last("job.ended")["artifacts"][0]
    assert kept["size"] < 1_200_000 < total, "head and tail are kept, within a bound"
    settled(told)


@pytest.mark.thorough
def test_E16_no_more_than_a_few_jobs_run_at_a_time(cast):
    workspace(cast.alice, repository(FILES))
    told = play(cast.alice, [*[TICKING] * 20, stop("j2"), TICKING, FINISH], max_steps=40)
    refused = [text for text in seen(told) if "may run at a time" in text]
    assert len(refused) == 20 - MAX_LIVE
    assert all(f"{MAX_LIVE} may run" in text and "j1, j2" in text for text in refused)
    assert len(told.of("job.started")) == MAX_LIVE + 1, "one that was stopped makes room"
    assert told.state == "succeeded"
    assert living(MARK) == []
    settled(told)


def test_E17_the_arguments_of_a_job_arrive_byte_for_byte(cast, monkeypatch):
    monkeypatch.setattr(background, "SOON", 20.0)
    args = ["a b", "", "$(id)", ";", "'\"", "two\nlines", "*"]
    workspace(cast.alice, repository({"show.py": "import sys\nprint(sys.argv[1:])\n"}))
    told = play(cast.alice, [job("python3", "show.py", *args), FINISH])
    assert str(args) in seen(told)[0]


def test_E7_what_a_job_left_in_a_session_of_its_own_is_gone_with_it(cast, monkeypatch):
    away = "import os, sys\nif os.fork() == 0:\n    os.setsid()\nos.execvp('sleep', ['sleep', sys.argv[1]])\n"
    workspace(cast.alice, repository({"away.py": away}))
    model_waits(monkeypatch, {1: lambda: wait_for(lambda: len(living(NAP)) >= 2)})
    told = play(cast.alice, [job("python3", "away.py", NAP), stop(), FINISH])
    assert ends(told) == [("j1", "stopped")]
    assert living(NAP) == []


def test_a_job_lives_no_longer_than_its_bound(cast, monkeypatch):
    monkeypatch.setattr(job_room, "MAX_SECONDS", 1.0)
    workspace(cast.alice, repository(FILES))
    jobs = started(monkeypatch)
    model_waits(monkeypatch, {1: lambda: ended(jobs[0])})
    told = play(cast.alice, [TICKING, output(), FINISH])
    assert ends(told) == [("j1", "timed_out")]
    assert told.last("job.ended")["trace"]["timed_out"] is True


LEAK = """import os, sys, time
print("{begin}", end="", flush=True)
while not os.path.exists("go.log"):
    time.sleep(0.02)
print("{end}")
print("given", sys.argv[2])
print("said all", flush=True)
time.sleep(60)
"""


def test_R9_F55_secrets_of_a_job_reach_neither_record_nor_preview(cast, monkeypatch):
    token = "ghp_" + "a1B2" * 9
    code = LEAK.format(begin=token[:20], end=token[20:])
    workspace(cast.alice, repository({"leak.py": code, ".gitignore": "*.log\n"}))
    told = submit(
        cast.alice,
        [job("python3", "leak.py", "--password", "hunter2-hunter2"), output(),
         tool("touch", "go.log"), output(), FINISH],
    )  # fmt: skip
    shown: list[str] = []
    looked = threading.Event()
    jobs = started(monkeypatch)
    model_waits(
        monkeypatch,
        {
            1: lambda: wait_for(lambda: jobs[0].log.total == 20),
            3: lambda: wait_for(lambda: "said all" in jobs[0].whole()),
            4: lambda: wait_for(looked.is_set),
        },
    )

    def look() -> None:
        wait_for(lambda: any("redacted" in row.text for row in Delta.objects.all()) or _over(told))
        shown.extend(Delta.objects.values_list("text", flat=True))
        looked.set()

    with Meanwhile(told, "job.started", look):
        told.work()
    assert told.state == "succeeded", told.reason
    everything = "".join(seen(told)) + "".join(shown) + str([e.payload for e in told.events])
    assert "[redacted" in "".join(shown), "the pages saw it while it ran"
    assert "[redacted" in seen(told)[3] and "said all" in seen(told)[3]
    assert token[20:] not in everything and token not in everything
    assert "hunter2-hunter2" not in everything
    assert token[:20] not in "".join(seen(told)), "half a secret waits until it is decided"
    settled(told)


def _over(told: Told) -> bool:
    return told.state not in ("running", "planning")


def test_an_unknown_job_is_refused_and_the_known_ones_are_named(cast):
    workspace(cast.alice, repository(FILES))
    told = play(cast.alice, [output("j9"), TICKING, stop("j2"), FINISH])
    assert "known are none" in seen(told)[0]
    assert "known are j1" in seen(told)[2]


def test_commands_run_beside_a_job_and_share_its_worktree(cast):
    workspace(cast.alice, repository(FILES))
    told = play(
        cast.alice,
        [job("python3", "once.py"), shell("until test -s runs.log; do sleep 0.05; done"),
         tool("cat", "runs.log"), FINISH],
    )  # fmt: skip
    assert "\nx\n" in seen(told)[2]
