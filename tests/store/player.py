"""Runs with rows in every projection, made by chance or on purpose; for the tests of replay."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from django.db import models

from runtime import approvals, artifacts, runs, tasks
from runtime.core import canonical
from runtime.journal.append import append, now
from runtime.journal.kinds import (
    ActionCompleted,
    ActionProposed,
    ActionStarted,
    ApprovalConsumed,
    FinishRefused,
    MessageCompleted,
    PolicyDecided,
    TaskCancelled,
    TaskFailed,
    TaskSucceeded,
)
from runtime.journal.statements import Change, Row
from runtime.models import (
    Approval,
    Artifact,
    Grant,
    PolicyDecision,
    Run,
    Task,
    Trace,
)
from runtime.runs import replay
from runtime.tasks import Claim
from tests.kit import Cast
from tests.store.store_kit import (
    ELSEWHERE,
    a_run,
    ask,
    claimed,
    dead,
)

TRACE = {
    "program": "ls", "argument_count": 1, "status": 0, "signal": None, "timed_out": False,
    "cancelled": False, "truncated": False, "limit": None, "stdout_bytes": 3, "stderr_bytes": 0,
    "duration_ms": 4, "cpu_ms": 1, "peak_memory": 4096, "sandbox": {"backend": "bwrap", "uid": 7},
}  # fmt: skip


class Player:
    """Does with a run, by chance, what workers and people do; only rows and events are touched."""

    def __init__(self, people: Cast, run: Run, chance: random.Random) -> None:
        self.people, self.run, self.chance, self.step = people, run, chance, 0

    def play(self, moves: int) -> None:
        for _ in range(moves):
            if Run.objects.get(pk=self.run.pk).state in {"succeeded", "cancelled"}:
                return
            self.one()

    def one(self) -> None:
        """One thing that can be done now."""
        run = Run.objects.get(pk=self.run.pk)
        pending = Approval.objects.filter(run=run, state="pending").first()
        if run.state == "failed":
            bound = max(run.max_attempts, 1 + max(t.attempt for t in Task.objects.filter(run=run)))
            runs.retry(run.pk, self.people.alice, bound)
        elif pending is not None:
            self.answer(pending)
        elif (
            claim := tasks.claim(self.chance.choice([dead(), ELSEWHERE]), run=run.pk)
        ) is not None:
            self.work(claim)
        elif (held := Task.objects.filter(run=run, state="cancelling").first()) is not None:
            by = Claim(run.pk, held.pk, held.attempt, held.fence, held.lease_owner, False)
            with tasks.held(by, states=("cancelling",)) as hold:
                hold.move("cancelled", TaskCancelled())
        else:
            Task.objects.filter(run=run, lease_expires_at__isnull=False).update(
                lease_expires_at=now() - timedelta(hours=1)
            )
            tasks.reap()

    def work(self, claim: Claim) -> None:
        for _ in range(self.chance.randrange(3)):
            self.act(claim)
        end = self.chance.choice(
            ["release", "ask", "escalate", "question", "crash", "fail", "succeed", "cancel", "ask"]
        )
        if end == "release":
            tasks.release(claim, "slice")
        elif end in {"ask", "escalate", "question"}:
            decision = "ESCALATE" if end == "escalate" else "ASK"
            ask(claim, decision, "question" if end == "question" else "action")
        elif end in {"fail", "succeed"}:
            with tasks.held(claim) as hold:
                if end == "fail":
                    failed = TaskFailed(reason="step_limit", detail="é" * self.size())
                    hold.move("failed", failed, reason="step_limit")
                else:
                    hold.move("succeeded", TaskSucceeded(summary="s" * self.size()))
        elif end == "cancel" and self.chance.random() < 0.3:
            runs.cancel(claim.run, self.people.alice)

    def size(self) -> int:
        return self.chance.choice([1, 5000])

    def act(self, claim: Claim) -> None:
        """One step of a worker, with every projection that it has."""
        self.step += 1
        action, run = f"{claim.task}.{self.step}", Run.objects.get(pk=claim.run)
        steps = Task.objects.get(pk=claim.task).steps + 1
        decided = PolicyDecided(
            action=action, kind="run_tool", decision="ALLOW", rule="default", source="default",
            reason="", risk="low", mutation=False, effects=[], stages=[], key="k", digest="d",
            policy_hash="p",
        )  # fmt: skip
        fields = ("action", "kind", "decision", "rule", "source", "key")
        verdict = {name: getattr(decided, name) for name in fields}
        events = [
            MessageCompleted(
                message=f"m{self.step}", step=steps, text="t" * self.size(), model="x",
                input_tokens=3, output_tokens=4, estimated=False,
            ),
            ActionProposed(action=action, kind="run_tool", step=steps, body={"kind": "run_tool"}),
            decided,
            ActionStarted(action=action, kind="run_tool", program="ls"),
        ]  # fmt: skip
        used = Approval.objects.filter(
            run=run, task=claim.task, state="approved", consumed_fence=0
        ).first()
        changes = []
        if used is not None:
            facts = {"approval": used.pk, "action": used.action, "kind": used.action_kind}
            events.append(ApprovalConsumed(**facts))
            consumed = {"consumed_fence": claim.fence}
            changes.append(Change(Approval, consumed, {"id": used.pk, "consumed_fence": 0}))
        append(
            claim.by(),
            events,
            task={"steps": steps},
            run={
                "steps": run.steps + 1,
                "input_tokens": run.input_tokens + 3,
                "output_tokens": run.output_tokens + 4,
            },
            rows=[
                Row(
                    PolicyDecision,
                    {**verdict, "run": claim.run, "task": claim.task, "at": ""},
                    seq_of=2,
                )
            ],
            changes=changes,
        )
        self.complete(claim, action)

    def complete(self, claim: Claim, action: str) -> None:
        """The end of an action: with a trace, or a refusal with much to refer to."""
        number = self.chance.choice([1, 40])
        facts = [artifacts.keep(f"{action}{n}".encode(), f"n{n}", "output") for n in range(number)]
        common = {"task": claim.task, "action": action, "created_at": now()}
        rows = [Row(Artifact, {"run_id": claim.run, **common, **fact.payload()}) for fact in facts]
        given = [fact.payload() for fact in facts]
        if self.chance.random() < 0.3:
            refused = FinishRefused(
                action=action, kind="finish", reason="r" * self.size(), debt=True, artifacts=given
            )
            append(claim.by(), [refused], task={"fence": claim.fence}, rows=rows)
            return
        values = {
            **TRACE, "sandbox": canonical.text(TRACE["sandbox"]), "run": claim.run,
            "task": claim.task, "attempt": claim.attempt, "action": action,
        }  # fmt: skip
        done = ActionCompleted(
            action=action, kind="run_tool", ok=True, observation="o" * self.size(),
            trace=TRACE, artifacts=given,
        )  # fmt: skip
        rows.append(Row(Trace, values, seq_of=0))
        append(claim.by(), [done], task={"fence": claim.fence}, rows=rows)

    def answer(self, approval: Approval) -> None:
        grave = approval.decision == "ESCALATE"
        by = self.people.sol if grave else self.people.bob
        verdict = self.chance.choice(["approve", "approve", "deny", "expire"])
        if verdict == "expire":
            with tasks.moves.open_run(approval.run_id) as book:
                approvals.expiring.expire(book, *approvals.expiring.lock(approval.pk))
            return
        day = (now() + timedelta(days=2)).date()
        scopes = ["once", "task", "run", f"workspace:{day}"]
        question = approval.kind == "question"
        approvals.decide(
            approval.pk,
            by=by,
            verdict=verdict,
            scope="once" if question else self.chance.choice(scopes),
            comment="c" * self.chance.choice([1, 4000]),
        )


def rich(people: Cast) -> Run:
    """A run with a row in every projection, still held."""
    run = a_run("a", "b", "c")
    player = Player(people, run, random.Random(1))
    for scope in ("once", "run"):
        claim = claimed(run)
        player.act(claim)
        approval = ask(claim)
        approvals.decide(approval.pk, by=people.bob, verdict="approve", scope=scope, comment="c")
    claim = claimed(run)
    player.act(claim)
    for model in (Task, Approval, Trace, PolicyDecision, Artifact):
        assert model.objects.filter(run=run.pk).exists(), model
    assert Grant.objects.exists()
    assert Approval.objects.exclude(consumed_fence=0).exists() or player.act(claim) is None
    assert replay.check(run.pk) == ""
    return run


LEFT_OUT = {"available_at", "lease_seq", "lease_expires_at", "id"}
"""What the journal does not hold: renewals, when a task may be claimed, numbers of rows."""


def picture(run: str) -> dict[str, Any]:
    """Every projection of a run, but for what the journal does not hold."""
    found: dict[str, Any] = {}
    for model, join, order in MODELS:
        rows = model._default_manager.filter(**{join: run}).order_by(order).values()
        left = LEFT_OUT if model in {Task, Artifact, Trace, PolicyDecision} else set()
        keep_id = model is Task
        found[model.__name__] = [
            {
                k: v
                for k, v in row.items()
                if (k not in left or (k == "id" and keep_id))
                and not (model is Artifact and k == "created_at")
            }
            for row in rows
        ]
    found["Artifact"].sort(key=lambda row: (row["action"], row["sha256"], row["name"]))
    return found


MODELS: list[tuple[type[models.Model], str, str]] = [
    (Run, "pk", "pk"),
    (Task, "run", "id"),
    (Approval, "run", "id"),
    (Grant, "approval__run", "id"),
    (Trace, "run", "seq"),
    (PolicyDecision, "run", "seq"),
    (Artifact, "run", "id"),
]
