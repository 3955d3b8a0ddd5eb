"""submit, status, watch, cancel, retry, approve: their answers and exit codes."""

from __future__ import annotations

import time

import pytest

from tests.cli.conftest import M31A
from tests.kit import EDIT, FINISH, VERIFY

"""Each of them starts many processes, on a machine that may have other work."""

SLOW = {"kind": "read_file", "path": "notes.txt", "delay_ms": 20_000}
PUSH = {"kind": "git_push"}


def test_a_run_that_succeeds_is_worked_on_here_and_exits_0(m31a: M31A):
    done = m31a.submit(EDIT, VERIFY, FINISH, more=("--wait", "--require-edit"))
    assert done.code == 0, done.err
    assert done.json.keys() == {"run", "state", "reason"}
    assert (done.json["state"], done.json["reason"]) == ("succeeded", "")
    assert "No worker is running" in done.err
    run = done.json["run"]
    status = m31a("status", run, "--json")
    assert status.code == 0
    (task,) = status.json["tasks"]
    assert status.json == {
        "run": run,
        "state": "succeeded",
        "reason": "",
        "tasks": [
            {"task": task["task"], "kind": "implementation", "state": "succeeded", "attempt": 1}
        ],
        "approvals": [],
    }
    listed = m31a("--json", "status")
    assert status.json in listed.json
    watched = m31a("watch", run)
    assert watched.code == 0
    assert [event["seq"] for event in watched.lines] == list(range(1, len(watched.lines) + 1))
    assert watched.lines[-1]["type"] == "run.succeeded"
    for command in ("cancel", "retry"):
        refused = m31a(command, run, "--as", "alice")
        assert (refused.code, refused.out) == (1, "")
        assert "The run is succeeded" in refused.err
    again = m31a("watch", run, "--json")
    assert again.lines == watched.lines


@pytest.mark.thorough
def test_a_script_that_the_settings_name_is_copied_as_one_that_is_given(m31a: M31A):
    spec = m31a.script(FINISH)
    words = ("submit", "--workspace", "work", "--objective", "x", "--json")
    submitted = m31a(*words, M31A_PROVIDER=spec)
    assert submitted.code == 0, submitted.err
    (first,) = m31a("events", submitted.json["run"]).lines[:1]
    assert first["payload"]["provider"] == f"scripted:{spec.rpartition('/')[2]}"
    missing = m31a(*words, M31A_PROVIDER="scripted:/nonesuch.jsonl")
    assert missing.code == 2 and "cannot be read" in missing.err


@pytest.mark.thorough
def test_A10_R10_a_run_that_fails_exits_1_and_is_retried_within_the_bound(m31a: M31A):
    read = {"kind": "read_file", "path": "notes.txt"}
    failed = m31a.submit(read, read, FINISH, more=("--wait", "--max-steps", "1"))
    assert failed.code == 1
    assert (failed.json["state"], failed.json["reason"]) == ("failed", "step_limit")
    run = failed.json["run"]
    assert m31a("watch", run).code == 1
    retried = m31a("retry", run, "--max-attempts", "2", "--json", "--as", "alice")
    assert (retried.code, retried.json) == (0, {"run": run, "state": "running", "reason": ""})
    assert m31a("work", "--until-idle").code == 0
    again = m31a("status", run, "--json").json
    assert (again["state"], again["tasks"][0]["attempt"]) == ("failed", 2)
    refused = m31a("retry", run, "--max-attempts", "2", "--as", "alice")
    assert refused.code == 1
    assert "2 of 2 attempts" in refused.err


@pytest.mark.thorough
def test_a_run_that_waits_for_a_person_exits_4_and_goes_on_after_the_answer(m31a: M31A):
    waits = m31a.submit(EDIT, VERIFY, PUSH, FINISH, more=("--wait",))
    assert waits.code == 4, waits.err
    assert waits.json["state"] == "waiting"
    run = waits.json["run"]
    assert m31a("watch", run).code == 4
    (asked,) = [a for a in m31a("approvals", "--json").json["approvals"] if a["run"] == run]
    assert asked.keys() == {
        "id", "run", "task", "decision", "action", "rule", "expires_at", "state"
    }  # fmt: skip
    assert (asked["decision"], asked["action"], asked["state"]) == ("ASK", PUSH, "pending")
    assert asked["expires_at"].endswith("Z")
    assert m31a("status", run, "--json").json["approvals"] == [asked["id"]]
    mine = m31a("approve", asked["id"], "--as", "alice")
    assert mine.code == 1
    assert "alice may not answer" in mine.err
    said = m31a(
        "--as", "bob", "approve", asked["id"], "--json", "--scope", "run", "--comment", "fine"
    )
    assert (said.code, said.json) == (0, {"id": asked["id"], "state": "approved"})
    late = m31a("deny", asked["id"], "--as=bob", "--comment", "no")
    assert (late.code, late.out) == (1, "")
    assert "already approved by bob" in late.err
    assert m31a("work", "--until-idle").code == 0
    assert m31a("status", run, "--json").json["state"] == "succeeded"


@pytest.mark.thorough
def test_a_denial_reaches_the_model_with_its_comment(m31a: M31A):
    waits = m31a.submit(PUSH, FINISH, more=("--wait",))
    (asked,) = m31a("status", waits.json["run"], "--json").json["approvals"]
    said = m31a("deny", asked, "--comment", "never on a Friday", "--as", "bob", "--json")
    assert (said.code, said.json) == (0, {"id": asked, "state": "denied"})
    assert m31a("work", "--until-idle").code == 0
    events = m31a("events", waits.json["run"]).lines
    (refused,) = [e for e in events if e["type"] == "action.refused"]
    assert "never on a Friday" in refused["payload"]["reason"]
    assert events[-1]["type"] == "run.succeeded"


@pytest.mark.thorough
def test_R8_a_run_that_is_cancelled_while_it_is_waited_for_exits_3(m31a: M31A):
    waiting = m31a.start(
        "submit", "--workspace", "work", "--objective", "Sleep.", "--json", "--wait",
        "--as", "alice", "--provider", m31a.script(SLOW, FINISH),
    )  # fmt: skip
    try:
        run = _started(m31a)
        cancelled = m31a("cancel", run, "--json", "--as", "alice")
        assert cancelled.code == 0, cancelled.err
        out, err = waiting.communicate(timeout=15)
    finally:
        waiting.kill()
    assert waiting.returncode == 3, err
    assert '"state": "cancelled"' in out
    assert m31a("watch", run).code == 3


def _started(m31a: M31A) -> str:
    for _ in range(30):
        for one in m31a("status", "--json").json:
            if one["state"] == "running" and one["tasks"][0]["state"] == "running":
                return str(one["run"])
        time.sleep(0.2)
    raise AssertionError("the run did not start")


@pytest.mark.thorough
def test_R1_the_same_key_again_is_the_same_run_and_R3_a_cancel_stays(m31a: M31A):
    first = m31a.submit(FINISH, more=("--key", "once"))
    assert (first.code, first.json["state"]) == (0, "running")
    run = first.json["run"]
    before = m31a("events", run).out
    again = m31a.submit(EDIT, more=("--key", "once"))
    assert (again.code, again.json["run"]) == (0, run)
    assert m31a("events", run).out == before
    cancelled = m31a("cancel", run, "--as", "alice", "--json")
    assert cancelled.json == {"run": run, "state": "cancelled", "reason": "cancelled"}
    assert m31a("work", "--until-idle").code == 0
    assert m31a("status", run, "--json").json["state"] == "cancelled"
    refused = m31a("cancel", run, "--as", "alice")
    assert refused.code == 1
    assert "The run is cancelled" in refused.err


@pytest.mark.thorough
def test_one_slice_at_most(m31a: M31A):
    assert m31a("work", "--until-idle").code == 0  # what others left comes first
    run = m31a.submit(FINISH).json["run"]
    assert m31a("work", "--once").code == 0
    assert m31a("status", run, "--json").json["state"] == "succeeded"


@pytest.mark.thorough
def test_a_model_server_that_cannot_be_reached_fails_the_run(m31a: M31A):
    done = m31a(
        "submit", "--workspace", "work", "--objective", "o", "--provider", "openai:m",
        "--wait", "--json", "--as", "alice",
        OPENAI_BASE_URL="http://127.0.0.1:9/v1", OPENAI_API_KEY="x",
    )  # fmt: skip
    assert done.code == 1, done.err
    assert (done.json["state"], done.json["reason"]) == ("failed", "provider_unreachable")


def test_persons_without_the_right_are_refused(m31a: M31A):
    provider = m31a.script(FINISH)
    words = ["submit", "--workspace", "work", "--objective", "o", "--provider", provider]
    refused = m31a(*words, "--as", "bob")
    assert refused.code == 1
    assert "bob may not submit" in refused.err
    assert "--role submitter" in refused.err
