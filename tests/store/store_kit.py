"""Runs as rows and events only: no files, no cage, no model."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import connection, connections
from django.db.models.functions import Now

from runtime import approvals, tasks
from runtime.approvals import Card, Question
from runtime.core import digests
from runtime.journal import guards, read
from runtime.journal.append import new_id, now
from runtime.journal.book import ensure_system, new_run
from runtime.journal.kinds import RunSubmitted, TaskFailed, TaskReady, TaskSucceeded
from runtime.models import Approval, Dependency, Run, Task, Workspace
from runtime.tasks import Claim, incarnation

ELSEWHERE = "elsewhere/another-boot/1/2/aaaa"
"""A holder on another machine: only its silence can tell that it is gone."""


def here() -> str:
    """A holder that lives: this process."""
    return incarnation.make()


def dead() -> str:
    """A holder of this machine whose process is gone: its process id has another start now."""
    host, boot, pid, start, noise = incarnation.make().split("/")
    return "/".join([host, boot, pid, f"{int(start) - 1}", noise])


def a_workspace(name: str = "work") -> Workspace:
    """The row of a registered workspace."""
    found = Workspace.objects.filter(name=name).first()
    return found or Workspace.objects.create(
        name=name, root=f"/srv/{name}", is_git=True, created_at=now(), created_by="alice"
    )


def a_run(
    *keys: str,
    by: str = "alice",
    needs: Mapping[str, Sequence[str]] | None = None,
    edge: str = "needs",
    max_attempts: int = 3,
    workspace: str = "work",
    **more: Any,
) -> Run:
    """A submitted run with tasks; those that need another are blocked."""
    ensure_system()
    needs = needs or {}
    run = Run(
        id=new_id(),
        workspace=a_workspace(workspace),
        objective="o",
        provider="scripted:x",
        max_attempts=max_attempts,
        state="running",
        submitted_by=by,
        created_at=now(),
        base="c0",
        **more,
    )
    ids = {key: new_id() for key in keys or ("main",)}
    with new_run(run) as book:
        for key, ident in ids.items():
            Task.objects.create(
                id=ident,
                run=run,
                key=key,
                kind="implementation",
                role="implementer",
                objective="o",
                state="blocked" if needs.get(key) else "ready",
                available_at=Now(),
            )
        for key, parents in needs.items():
            for parent in parents:
                Dependency.objects.create(parent_id=ids[parent], child_id=ids[key], kind=edge)
        submitted = RunSubmitted(
            objective="o",
            workspace=workspace,
            workflow="single",
            provider="scripted:x",
            mode="assisted",
            require_edit=False,
            max_steps=100,
            max_attempts=max_attempts,
            submitted_by=by,
            verification=[],
            base="c0",
            tree="t0",
            uncommitted=0,
            tasks=[
                {"task": ident, "key": key, "kind": "implementation", "role": "implementer"}
                for key, ident in ids.items()
            ],
        )
        book.append(submitted, actor=f"user:{by}")
        for key, ident in ids.items():
            if not needs.get(key):
                book.append(TaskReady(why="submitted"), actor=f"user:{by}", task=ident)
    return run


def claimed(run: Run | None = None, owner: str | None = None) -> Claim:
    """A claim on the run's first ready task."""
    run = run or a_run()
    taken = tasks.claim(owner or here(), run=run.pk)
    assert taken is not None
    return taken


def ids_of(run: Run) -> dict[str, str]:
    """Ids of a run's tasks by their keys."""
    return dict(Task.objects.filter(run=run).values_list("key", "id"))


def end(claim: Claim, to: str = "succeeded") -> None:
    """End a held task as its worker would."""
    with tasks.held(claim) as hold:
        if to == "failed":
            hold.move("failed", TaskFailed(reason="step_limit"), reason="step_limit")
        else:
            hold.move("succeeded", TaskSucceeded(summary="done"))


def ask(claim: Claim, decision: str = "ASK", kind: str = "action", **more: Any) -> Approval:
    """A question about a claimed task; the task waits from here on."""
    question = Question(
        kind=kind,
        action=f"{claim.task}.{claim.fence}",
        action_kind="ask_human" if kind == "question" else "git_push",
        decision=decision,
        rule="git push",
        reason="it leaves the machine",
        risk="medium",
        key=more.pop("key", "k" * 64),
        digest=more.pop("digest", "d" * 64),
        card=Card(sentence="implementer wants to push", action={"kind": "git_push"}, stages=[]),
    )
    with tasks.held(claim) as hold:
        return approvals.request(hold, question)


def asked(by: str = "alice", decision: str = "ASK", kind: str = "action", **more: Any) -> Approval:
    """A new run that waits for an answer."""
    return ask(claimed(a_run(by=by)), decision, kind, **more)


def state(task: str) -> str:
    """A task's state now."""
    return str(Task.objects.values_list("state", flat=True).get(pk=task))


def run_state(run: str) -> str:
    """A run's state now."""
    return str(Run.objects.values_list("state", flat=True).get(pk=run))


def types(run: str) -> list[str]:
    """Types of a run's events, in order."""
    return [event.type for event in read.every(run)]


def recompute(run: str) -> str:
    """Every hash of a run by the words of the design, with nothing of the product's; the last."""
    head = hashlib.sha256(b"m31a/1/" + run.encode()).hexdigest()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT run, seq, type, v, task, attempt, fence, actor, at, payload, prev_hash, hash "
            "FROM runtime_event WHERE run = %s ORDER BY seq",
            [run],
        )
        rows = cursor.fetchall()
    names = ["run", "seq", "type", "v", "task", "attempt", "fence", "actor", "at", "payload"]
    for number, row in enumerate(rows, 1):
        event = dict(zip(names, row[:10], strict=True))
        event["payload"] = json.loads(event["payload"])
        text = json.dumps(event, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        assert event["seq"] == number
        assert row[10] == head
        head = hashlib.sha256(head.encode("ascii") + text.encode()).hexdigest()
        assert row[11] == head
    assert Run.objects.values_list("event_seq", "head_hash").get(pk=run) == (len(rows), head)
    return head


YES = (guards.APPROVALS, guards.GRANTS)


def without_guards() -> None:
    """Drop every trigger, as somebody who goes behind the application's back would."""
    with connection.cursor() as cursor:
        for name in guards.names(connection.vendor):
            if connection.vendor == "sqlite":
                cursor.execute(f"DROP TRIGGER {name}")
                continue
            for table in (guards.EVENTS, guards.TASKS, guards.TOMBSTONES, *YES):
                cursor.execute(f"DROP TRIGGER IF EXISTS {name} ON {table}")


def sql(statement: str, *values: Any) -> int:
    """One statement past the application; how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def at_once(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Results (or exceptions) of jobs started together, each in a thread and on a connection of
    its own."""
    gate, results = threading.Barrier(len(jobs)), [None] * len(jobs)

    def work(index: int) -> None:
        try:
            gate.wait(20)
            results[index] = jobs[index]()
        except Exception as error:  # noqa: BLE001 - it is the result
            results[index] = error  # type: ignore[call-overload]
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(40)
    return results


def nothing_changed(run: str) -> Callable[[], bool]:
    """Call it later: whether the run's events and rows are as they are now."""

    def picture() -> Any:
        return (
            [event.hash for event in read.every(run)],
            list(Run.objects.filter(pk=run).values()),
            list(Task.objects.filter(run=run).order_by("id").values()),
            list(Approval.objects.filter(run=run).order_by("id").values()),
        )

    before = picture()
    return lambda: bool(picture() == before)


def first_head(run: str) -> str:
    """The product's own first hash."""
    return digests.first_head(run)
