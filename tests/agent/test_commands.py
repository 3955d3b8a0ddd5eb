"""Commands that the model proposes: what they get, what comes back, what is refused."""

from __future__ import annotations

import json

import pytest

from runtime import blobs
from runtime.models import Artifact, Trace
from tests.agent.scenes import cancel_at, plain, seen, shell, tool, tree
from tests.clock import best_of_three, under
from tests.kit import FINISH, play, repository, submit, workspace

SHOW = "import sys, json\nprint(json.dumps(sys.argv[1:]))\n"


@pytest.mark.parametrize(
    "step",
    [
        tool("nonesuch-program"),
        tool("./x"),
        tool("/usr/bin/nonesuch"),
        tool("true", cwd=".."),
        tool("true", cwd="/etc"),
        shell("true", cwd="../.."),
    ],
    ids=["not allowed", "a path", "an absolute path", "parent", "outside", "shell outside"],
)
def test_E1_refused_before_anything_starts(cast, step):
    workspace(cast.alice, repository({"x": "#!/bin/sh\ntouch ran\n"}), allow_only=["sh", "true"])
    told = play(cast.alice, [step, FINISH])
    started = [p for p in told.of("action.started") if p["kind"] != "finish"]
    assert started == []
    assert not (tree(told) / "ran").exists()
    assert told.state in {"succeeded", "waiting"}


def test_A8_a_program_that_is_not_allowed_is_an_observation_and_the_run_goes_on(cast):
    workspace(cast.alice, allow_only=["true"])
    told = play(cast.alice, [tool("python3", "x.py"), tool("true"), FINISH])
    assert "python3" in told.last("action.refused")["reason"]
    assert told.state == "succeeded"


def test_E2_a_timeout_is_flagged_and_kills(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("sleep", "30", timeout=1), FINISH])
    trace = told.of("action.completed")[0]["trace"]
    assert trace["timed_out"] is True and trace["cancelled"] is False
    assert trace["duration_ms"] < 10_000
    assert "timed out" in seen(told)[0]
    assert Trace.objects.get(run=told.run.pk).timed_out is True


@pytest.mark.thorough
def test_E2_output_over_the_cap_is_flagged_and_the_status_stays(cast):
    workspace(cast.alice)
    size = 9 << 20
    told = play(cast.alice, [shell(f"head -c {size} /dev/zero | tr '\\0' a"), FINISH])
    trace = told.of("action.completed")[0]["trace"]
    assert trace["truncated"] is True
    assert trace["stdout_bytes"] == size
    assert trace["status"] == 0


def test_E3_cancelled_in_under_a_second_and_not_timed_out(cast):
    workspace(cast.alice)

    @best_of_three
    def cancelled():
        told = submit(cast.alice, [tool("sleep", "20"), FINISH])
        with cancel_at(told, "action.started", cast.alice):
            told.work()
        trace = told.last("action.completed")["trace"]
        assert trace["cancelled"] is True and trace["timed_out"] is False
        assert told.state == "cancelled"
        assert told.types[-2:] == ["task.cancelled", "run.cancelled"]
        under(trace["duration_ms"] / 1000, 1)

    cancelled()


def test_E12_standard_input_is_at_its_end_at_once(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("cat", timeout=20), shell("cat && echo end", timeout=20), FINISH])
    first, second = told.of("action.completed")[:2]
    assert first["trace"]["status"] == 0 and first["trace"]["stdout_bytes"] == 0
    assert "end" in second["observation"]


def test_E17_arguments_arrive_byte_for_byte(cast):
    workspace(cast.alice, repository({"show.py": SHOW}))
    args = ["a b", "$(id)", ";", "", "two\nlines", "'\"", "`x`", "*", "\\", "ü → 字", "--", "-c"]
    told = play(cast.alice, [tool("python3", "show.py", *args), FINISH])
    output = seen(told)[0].split("\n", 1)[1]
    assert json.loads(output) == args
    assert told.of("action.completed")[0]["trace"]["argument_count"] == len(args) + 1


def test_A22_a_megabyte_of_output_is_bounded_with_a_mark_and_whole_in_an_artifact(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("seq", "1", "160000"), FINISH])
    completed = told.of("action.completed")[0]
    text = plain(completed["observation"])
    assert len(text) < 20_000
    assert "left out here" in text and completed["cut"] > 900_000
    assert "\n160000\n[the whole is artifact " in text
    (fact,) = [fact for fact in completed["artifacts"] if fact["kind"] == "output"]
    whole = blobs.get(fact["sha256"]).decode()
    assert whole.splitlines() == [str(number) for number in range(1, 160_001)]
    assert Artifact.objects.filter(run=told.run, sha256=fact["sha256"]).exists()


def test_E13_missing_and_crashing_programs_are_told_apart(cast):
    crash = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
    workspace(cast.alice, repository({"crash.py": crash}))
    told = play(cast.alice, [tool("python3", "crash.py"), shell("exit 3"), FINISH])
    crashed, failed = told.of("action.completed")[:2]
    assert crashed["trace"]["signal"] == 11
    assert failed["trace"]["status"] == 3
    assert not crashed["ok"] and not failed["ok"]
    assert told.state == "succeeded"


def test_a_command_sees_no_variable_of_the_server(cast, monkeypatch):
    monkeypatch.setenv("M31A_TEST_VALUE", "do-not-show-this")
    workspace(cast.alice, repository({"show.py": "import os\nprint(dict(os.environ))\n"}))
    told = play(cast.alice, [tool("python3", "show.py"), FINISH])
    assert "do-not-show-this" not in "".join(seen(told))
    assert told.of("action.completed")[0]["trace"]["status"] == 0


def test_C1_the_same_bytes_twice_are_one_blob_with_two_references(cast):
    workspace(cast.alice)
    keep = {"kind": "create_artifact", "name": "a.txt", "content": "the same\n"}
    told = play(cast.alice, [keep, {**keep, "name": "b.txt"}, FINISH])
    first, second = (p["artifacts"][0] for p in told.of("action.completed")[:2])
    assert first["sha256"] == second["sha256"]
    rows = Artifact.objects.filter(run=told.run, sha256=first["sha256"])
    assert sorted(rows.values_list("name", flat=True)) == ["a.txt", "b.txt"]
    assert blobs.get(first["sha256"]) == b"the same\n"


def test_C5_retention_none_keeps_nothing_and_full_keeps_even_short_output(cast):
    for retention in ("none", "full"):
        workspace(cast.alice, name=retention, retention=retention)
        told = play(cast.alice, [tool("seq", "1", "9"), FINISH], workspace=retention)
        kept = Artifact.objects.filter(run=told.run, kind="output").count()
        assert kept == (1 if retention == "full" else 0)


def test_C5_the_model_is_told_where_nothing_is_kept(cast):
    workspace(cast.alice, retention="none")
    told = play(cast.alice, [tool("seq", "1", "160000"), FINISH])
    assert "keeps no output" in plain(told.of("action.completed")[0]["observation"])


def test_C4_an_artifact_over_the_runs_bound_is_refused_with_the_numbers(cast):
    workspace(cast.alice, budgets={"artifact_bytes": 20_000})
    kept = {"kind": "create_artifact", "name": "notes", "content": "n" * 4000}
    told = play(cast.alice, [kept, {**kept, "name": "more"}, FINISH])
    first, second = told.of("action.completed")[:2]
    assert first["ok"] and not second["ok"]
    assert "4000" in second["observation"]
