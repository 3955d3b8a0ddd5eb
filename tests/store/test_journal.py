"""Appending: numbered, chained, fenced, redacted, and all or nothing with the projections."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from runtime import blobs, tasks
from runtime.core.canonical import NotCanonical
from runtime.core.errors import NotFound, StaleFence
from runtime.journal import hint, read
from runtime.journal.append import Lost, append
from runtime.journal.book import new_run, open_run, open_system
from runtime.journal.draft import PayloadTooLarge, moved, whole
from runtime.journal.kinds import (
    ActionProposed,
    ActionStarted,
    MessageCompleted,
    PersonAdded,
    TaskFailed,
    TaskReady,
)
from runtime.journal.statements import Change, Plus, Row
from runtime.models import Approval, Artifact, Event, PolicyDecision, Run, Task
from runtime.runs import replay
from runtime.runs.reading import status, summaries
from tests.store.store_kit import (
    a_run,
    ask,
    at_once,
    claimed,
    here,
    nothing_changed,
    recompute,
    types,
)

pytestmark = pytest.mark.usefixtures("both")
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def _message(step: int = 1, text: str = "hello") -> MessageCompleted:
    return MessageCompleted(
        message=f"m{step}",
        step=step,
        text=text,
        model="x",
        input_tokens=1,
        output_tokens=2,
        estimated=False,
    )


def _started(n: int = 1) -> ActionStarted:
    return ActionStarted(action=f"a{n}", kind="verify")


def test_events_of_people_and_of_a_worker_make_one_chain():
    claim = claimed()
    for n in range(3):
        append(claim.by(), [_message(n), _started(n)], task={"steps": n})
    tasks.release(claim, "slice")
    assert types(claim.run) == [
        "run.submitted",
        "task.ready",
        "task.claimed",
        *["message.completed", "action.started"] * 3,
        "task.released",
    ]
    recompute(claim.run)


def test_every_column_of_an_event_says_who_wrote_it():
    claim = claimed()
    append(claim.by(), [_message(text="é\n\0 ‮ \U0001f600")], task={"steps": 1})
    event = read.last(claim.run, 1)[0]
    assert (event.task, event.attempt, event.fence) == (claim.task, 1, 1)
    assert (event.actor, event.v, event.seq) == ("worker", 1, 4)
    assert event.payload["text"] == "é\n\0 ‮ \U0001f600"
    assert event.at.endswith("Z") and len(event.at) == 27
    assert read.head(claim.run) == (4, event.hash)
    recompute(claim.run)


def test_the_projections_go_in_with_the_events_and_get_their_numbers_and_times():
    claim = claimed()
    values = {
        "run": claim.run,
        "task": claim.task,
        "action": "a",
        "kind": "verify",
        "decision": "ALLOW",
        "rule": "r",
        "source": "default",
        "key": "k",
        "at": "",
    }
    append(
        claim.by(),
        [_message(), _started()],
        task={"steps": 7},
        run={"steps": 7, "input_tokens": 5},
        rows=[Row(PolicyDecision, values, seq_of=1)],
    )
    decision = PolicyDecision.objects.get()
    assert (decision.seq, decision.at) == (5, read.last(claim.run, 1)[0].at)
    assert Task.objects.get(pk=claim.task).steps == 7
    assert Run.objects.values_list("steps", "input_tokens").get(pk=claim.run) == (7, 5)


@pytest.mark.parametrize("wrong", ["older", "newer", "waiting", "cancelling", "no run", "no task"])
def test_F44_a_claim_that_does_not_hold_writes_nothing(wrong):
    claim = claimed()
    by = claim.by()
    if wrong == "older":
        tasks.release(claim, "slice")
        claimed(Run.objects.get(pk=claim.run))
    elif wrong == "newer":
        by = by._replace(fence=claim.fence + 1)
    elif wrong == "waiting":
        ask(claim)
    elif wrong == "cancelling":
        Task.objects.filter(pk=claim.task).update(state="cancelling")
    elif wrong == "no run":
        by = by._replace(run="nowhere")
    else:
        by = by._replace(task="nobody")
    same = nothing_changed(claim.run)
    with pytest.raises(StaleFence):
        append(
            by, [_message()], task={"steps": 99}, run={"steps": 99}, rows=[_reference(claim.run)]
        )
    assert same()
    assert not Artifact.objects.exists()


def _reference(run: str) -> Row:
    return Row(
        Artifact,
        {
            "run": run,
            "sha256": "0" * 64,
            "name": "n",
            "kind": "k",
            "size": 1,
            "created_at": Run.objects.get(pk=run).created_at if run else None,
        },
    )


def test_a_projection_that_changed_meanwhile_undoes_the_whole_step():
    claim = claimed()
    same = nothing_changed(claim.run)
    gone = Change(Approval, {"consumed_fence": 1}, {"id": "x", "state": "approved"})
    with pytest.raises(Lost):
        append(claim.by(), [_message()], task={"steps": 9}, changes=[gone])
    assert same()


def _counts(tokens: int) -> dict[str, Plus]:
    return {"steps": Plus(1), "input_tokens": Plus(1), "output_tokens": Plus(tokens)}


def test_the_totals_of_a_run_are_right_where_several_of_its_tasks_count_at_once():
    run = a_run("a", "b", "c")
    claims = [claimed(run) for _ in range(3)]

    def work(claim: tasks.Claim) -> None:
        for step in range(1, 6):
            append(claim.by(), [_message(step)], task={"steps": step}, run=_counts(2))

    at_once([lambda claim=claim: work(claim) for claim in claims])
    with tasks.held(claims[0]) as hold:
        hold.append(_message(6))
        hold.book.set(**_counts(2))
        hold.book.set(**_counts(0))
        Task.objects.filter(pk=hold.task.pk).update(steps=6)
    with tasks.held(claims[1]) as hold:
        hold.append(_message(6))
        Task.objects.filter(pk=hold.task.pk).update(steps=6)
        hold.book.set(output_tokens=Plus(2))
    run.refresh_from_db()
    assert (run.steps, run.input_tokens, run.output_tokens) == (17, 17, 34)
    assert replay.check(run.pk) == ""


def test_X3_a_commit_whose_answer_is_lost_counts_once_although_others_wrote_since(monkeypatch):
    run = a_run("a", "b")
    first, second = claimed(run), claimed(run)

    tries = []

    @contextmanager
    def lossy(durable: bool) -> Iterator[None]:
        with transaction.atomic(durable=durable):
            yield
        tries.append(1)
        if len(tries) == 1:
            monkeypatch.setattr("runtime.journal.append.atomic", transaction.atomic)
            append(second.by(), [_message()], task={"steps": 1}, run=_counts(2))
            raise OperationalError("the connection is gone")

    monkeypatch.setattr("runtime.journal.append.atomic", lossy)
    append(first.by(), [_message()], task={"steps": 1}, run=_counts(2))
    assert types(run.pk).count("message.completed") == 2
    run.refresh_from_db()
    assert (run.steps, run.output_tokens) == (2, 4)
    assert replay.check(run.pk) == ""


def test_a_failure_in_the_middle_leaves_nothing_of_the_transaction():
    run = a_run()
    same = nothing_changed(run.pk)
    with pytest.raises(ZeroDivisionError), open_run(run.pk) as book:
        book.append(TaskReady(why="x"), actor="runtime")
        book.set(reason="x")
        raise ZeroDivisionError
    assert same()


def test_a_run_whose_first_events_cannot_be_written_does_not_exist():
    run = Run(id="r" * 26, state="planning")
    with pytest.raises(NotCanonical), new_run(run) as book:
        book.append(PersonAdded(name="\ud800", roles=[]), actor="runtime")
    assert not Run.objects.filter(pk=run.pk).exists()
    assert not Event.objects.filter(run=run.pk).exists()


def test_an_unknown_run_is_said_to_be_unknown():
    with pytest.raises(NotFound, match="nowhere"), open_run("nowhere"):
        pass
    with pytest.raises(NotFound, match="nowhere"):
        read.head("nowhere")


def test_R9_F55_what_is_secret_is_replaced_before_the_first_write():
    claim = claimed()
    body = {"kind": "run_tool", "program": "curl", "args": ["--token", "s3cr3t"]}
    proposed = ActionProposed(action="a", kind="run_tool", step=1, body=body)
    append(claim.by(), [_message(text=f"it is {TOKEN}"), proposed], task={"steps": 1})
    with open_run(claim.run) as book:
        book.append(TaskFailed(reason="x", detail=TOKEN * 500), actor="runtime", task=claim.task)
    with connection.cursor() as cursor:
        cursor.execute("SELECT payload FROM runtime_event")
        stored = " ".join(row[0] for row in cursor.fetchall())
    assert TOKEN not in stored
    assert "s3cr3t" not in stored
    for reference in Artifact.objects.all():
        assert TOKEN.encode() not in blobs.get(reference.sha256)
    recompute(claim.run)


def test_what_is_over_the_bound_moves_to_an_artifact_that_is_referenced():
    claim = claimed()
    text = "é" * 4000
    append(claim.by(), [_message(text=text)], task={"steps": 1})
    with open_run(claim.run) as book:
        book.append(TaskFailed(reason="x", detail=text + "!"), actor="runtime", task=claim.task)
    first, second = read.last(claim.run, 2)
    (name, digest, size), *_ = moved(first.payload)
    assert (name, size) == ("text", 8000)
    assert blobs.get(digest).decode() == text
    assert whole(first.payload, MessageCompleted)["text"] == text
    assert whole(second.payload, TaskFailed)["detail"] == text + "!"
    found = Artifact.objects.order_by("id").values_list("name", "kind", "size", "task")
    assert list(found) == [
        ("message.completed text", "event", 8000, claim.task),
        ("task.failed detail", "event", 8001, claim.task),
    ]
    recompute(claim.run)


def test_a_payload_that_nothing_can_shrink_is_refused_before_the_transaction():
    claim = claimed()
    same = nothing_changed(claim.run)
    with pytest.raises(PayloadTooLarge):
        append(claim.by(), [ActionStarted(action="a" * 5000, kind="verify")], task={"steps": 1})
    assert same()


def test_reading_is_paged_and_in_order():
    claim = claimed()
    for n in range(12):
        append(claim.by(), [_started(n)], task={"steps": n})
    assert [event.seq for event in read.read(claim.run, after=3, limit=4)] == [4, 5, 6, 7]
    assert [event.seq for event in read.before(claim.run, 5, limit=3)] == [2, 3, 4]
    assert [event.seq for event in read.last(claim.run, 2)] == [14, 15]
    assert [event.seq for event in read.every(claim.run)] == list(range(1, 16))
    assert read.read(claim.run, after=15) == []


def test_R5_reading_does_not_let_the_log_grow():
    from runtime.journal import verify
    from runtime.runs import replay

    claim = claimed()
    same = nothing_changed(claim.run)
    status(claim.run)
    summaries()
    list(verify.export(claim.run))
    assert verify.verify(claim.run)["ok"]
    assert replay.check(claim.run) == ""
    assert tasks.peek(claim) == "held"
    assert same()


def test_the_system_has_a_chain_of_its_own_that_is_no_run(people):
    people.alice, people.bob  # noqa: B018 - made by being named
    a_run()
    with open_system() as book:
        book.append(PersonAdded(name="x", roles=["auditor"]), actor="user:alice")
    recompute("system")
    assert [event.payload["name"] for event in read.every("system")] == ["alice", "bob", "x"]
    assert "system" not in [one["run"] for one in summaries()]
    with pytest.raises(NotFound):
        status("system")


def test_a_wake_up_follows_the_commit_and_not_a_failure(monkeypatch):
    told: list[Any] = []
    monkeypatch.setattr(hint, "wake", told.append)
    run = a_run()
    claim = claimed(run)
    append(claim.by(), [_started()], task={"steps": 1})
    assert set(told) == {run.pk}
    told.clear()
    with pytest.raises(StaleFence):
        append(claim.by()._replace(fence=9), [_started()], task={"steps": 1})
    assert told == []


def test_the_payload_is_stored_as_canonical_text():
    claim = claimed(owner=here())
    with connection.cursor() as cursor:
        cursor.execute("SELECT payload FROM runtime_event WHERE run = %s", [claim.run])
        for (text,) in cursor.fetchall():
            compact = json.dumps(
                json.loads(text), ensure_ascii=False, sort_keys=True, separators=(",", ":")
            )
            assert text == compact
