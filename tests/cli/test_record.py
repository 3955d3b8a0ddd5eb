"""The record on the command line: events, artifacts, audit and replay."""

from __future__ import annotations

import json
import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from tests.cli.conftest import M31A
from tests.kit import EDIT, FINISH, VERIFY

pytestmark = pytest.mark.thorough
"""Each of them starts many processes, on a machine that may have other work."""

FIELDS = [
    "run", "seq", "type", "v", "task", "attempt", "fence", "actor", "at", "payload", "prev_hash",
    "hash",
]  # fmt: skip
LISTING = {"kind": "run_tool", "program": "ls", "args": ["-l", "notes.txt"]}
KEEP = {"kind": "create_artifact", "name": "plan.md", "content": "One, two.\n"}


@pytest.fixture(scope="module")
def run(m31a: M31A) -> str:
    """A finished run."""
    done = m31a.submit(LISTING, KEEP, EDIT, VERIFY, FINISH, more=("--wait",))
    assert done.code == 0, done.err
    return str(done.json["run"])


def test_the_record_of_a_run_as_it_is_told(m31a: M31A, bare: M31A, run: str):
    events = m31a("events", run)
    assert events.code == 0
    assert all(list(event) == FIELDS for event in events.lines)
    assert [event["seq"] for event in events.lines] == list(range(1, len(events.lines) + 1))
    head = sha256(b"m31a/1/" + run.encode()).hexdigest()
    for event in events.lines:
        body = {k: event[k] for k in FIELDS[:10]}
        text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        assert event["prev_hash"] == head
        head = sha256((head + text).encode()).hexdigest()
        assert event["hash"] == head
        if event["type"].startswith("action."):
            assert {"action", "kind"} <= event["payload"].keys()
        if event["type"] == "action.proposed":
            assert event["payload"]["body"]["kind"] == event["payload"]["kind"]
    types = {event["type"] for event in events.lines}
    assert types >= {
        "run.submitted", "task.claimed", "message.completed", "action.proposed", "policy.decided",
        "action.started", "action.completed", "checkpoint.created", "verification.passed",
        "delivery.completed", "run.succeeded",
    }  # fmt: skip
    assert m31a("events", run, "--after", "5").lines == events.lines[5:]
    assert m31a("events", run).out == events.out

    exported = m31a("audit", "export", run)
    assert exported.lines == events.lines
    ending = f"{len(events.lines)} events, head {events.lines[-1]['hash']}"
    assert exported.err.splitlines() == [f"{run}: {ending}"]
    assert m31a("audit", "verify", run).err.splitlines() == [f"{run}: {ending}"]
    path = m31a.place / "chain.ndjson"
    path.write_text(exported.out)
    whole = {"ok": True, "run": run, "first_bad": None, "reason": ""}
    assert m31a("audit", "verify", run, "--json").json == whole
    assert m31a("audit", "verify", "--json", "--file", str(path)).json == whole
    _check_elsewhere(bare, path, ending)
    _check_files(m31a, path, run)


def _check_elsewhere(bare: M31A, path: Path, ending: str) -> None:
    """Where the run is not known, its end is not: that is said, and how to compare it."""
    refused = bare("audit", "verify", "--file", str(path))
    assert refused.code == 2 and "data folder" in refused.err and not bare.data.exists()
    assert bare("user", "add", "eve", "--role", "auditor").code == 0
    told = bare("audit", "verify", "--file", str(path))
    assert told.code == 0 and "nothing here tells" in told.out and ending in told.out
    answer = bare("audit", "verify", "--file", str(path), "--json").json
    assert answer["ok"] and answer.keys() == {"ok", "run", "first_bad", "reason"}
    assert ending in answer["reason"]


def _check_files(m31a: M31A, path: Path, run: str) -> None:
    """An exported file that was changed, and one whose last event was removed."""
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], lines[3].replace('"v":1', '"v":2'), *lines[4:]]))
    changed = m31a("audit", "verify", "--file", str(path), "--json")
    assert (changed.code, changed.json["ok"], changed.json["first_bad"]) == (1, False, 4)
    path.write_text("\n".join(lines[:-1]))
    cut = m31a("audit", "verify", "--file", str(path), "--json")
    assert (cut.code, cut.json["run"], cut.json["first_bad"]) == (1, run, len(lines))


def test_what_a_run_left(m31a: M31A, run: str):
    (trace, *_) = m31a("traces", run, "--json").json
    assert (trace["program"], trace["argument_count"], trace["status"]) == ("ls", 2, 0)
    assert trace.keys() >= {
        "attempt", "signal", "timed_out", "cancelled", "truncated", "stdout_bytes", "stderr_bytes",
        "duration_ms", "cpu_ms", "peak_memory", "sandbox",
    }  # fmt: skip
    assert isinstance(trace["sandbox"], dict)
    assert "-l" not in json.dumps(trace)
    kept = {one["name"]: one for one in m31a("artifacts", run, "--json").json}
    assert kept["plan.md"]["size"] == len(KEEP["content"])
    got = m31a("artifact", "get", kept["plan.md"]["sha256"])
    assert (got.code, got.out) == (0, KEEP["content"])
    diff = m31a("diff", run, "--json")
    assert diff.json["run"] == run
    assert "+changed" in diff.json["diff"]
    assert "+changed" in m31a("diff", run).out
    report = m31a("report", run, "--json").json
    assert report["delivery"]["files"] == 1
    assert report["verification"]["passed"] is True
    assert report["verification"]["commands"][0]["status"] == 0
    assert (report["run"], report["state"]) == (run, "succeeded")


def test_X4_X23_changes_behind_the_back_of_the_application(m31a: M31A):
    done = m31a.submit(FINISH)
    run = done.json["run"]
    agreed = m31a("replay", "--all", "--check", "--json")
    assert (agreed.code, agreed.json["ok"]) == (0, True)
    assert m31a("audit", "verify", "--json").json["ok"] is True
    with sqlite3.connect(m31a.data / "m31a.sqlite3") as database:
        database.execute("UPDATE runtime_run SET mode = 'unattended' WHERE id = ?", [run])
    differs = m31a("replay", "--all", "--check")
    assert differs.code == 1
    assert "mode is 'unattended', the journal says 'assisted'" in differs.out
    rebuilt = m31a("replay", run, "--rebuild", "--json")
    assert (rebuilt.code, rebuilt.json["ok"]) == (0, True)
    assert m31a("replay", run, "--check").code == 0

    with sqlite3.connect(m31a.data / "m31a.sqlite3") as database:
        triggers = database.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            database.execute(f"DROP TRIGGER {name}")
        last = database.execute(
            "SELECT max(seq) FROM runtime_event WHERE run = ?", [run]
        ).fetchone()[0]
        database.execute("DELETE FROM runtime_event WHERE run = ? AND seq = ?", [run, last])
    bad = m31a("audit", "verify", run, "--json")
    assert bad.code == 1
    assert (bad.json["ok"], bad.json["run"], bad.json["first_bad"]) == (False, run, last)
    assert "m31a_event_delete" in bad.json["reason"]
    for words in (("work", "--once"), ("retry", run)):
        unfit = m31a(*words)
        assert unfit.code == 2 and "m31a.E005" in unfit.err and "migrate" in unfit.err
    every = m31a("audit", "verify", "--json")
    assert (every.code, every.json["run"], every.json["first_bad"]) == (1, run, last)
    assert len(m31a("events", run).lines) == last - 1
    refused = m31a("replay", run, "--rebuild")
    assert refused.code == 1
    assert "broken" in refused.err
    with sqlite3.connect(m31a.data / "m31a.sqlite3") as database:
        for _, statement in triggers:
            database.execute(statement)
        # The others of this module use the same folder: this run was never there.
        database.execute("DELETE FROM runtime_artifact WHERE run_id = ?", [run])
        database.execute("DELETE FROM runtime_task WHERE run_id = ?", [run])
        database.execute("DELETE FROM runtime_run WHERE id = ?", [run])
        for name, statement in triggers:
            if name == "m31a_event_delete":
                database.execute(f"DROP TRIGGER {name}")
                database.execute("DELETE FROM runtime_event WHERE run = ?", [run])
                database.execute(statement)
