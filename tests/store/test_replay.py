"""The tables say what the journal says; whoever changes them is found, and they can be made anew."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import models

from runtime import approvals, artifacts, runs, tasks
from runtime.core import canonical
from runtime.core.errors import NotFound, Refused
from runtime.journal import verify
from runtime.journal.append import Change, Row, append, now
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
from runtime.models import (
    Approval,
    Artifact,
    Event,
    Grant,
    PolicyDecision,
    Run,
    Task,
    Trace,
    Workspace,
)
from runtime.runs import folding, replay
from runtime.tasks import Claim
from tests.kit import Cast
from tests.store.store_kit import (
    ELSEWHERE,
    a_run,
    ask,
    claimed,
    dead,
    nothing_changed,
    recompute,
    sql,
    state,
    without_guards,
)

pytestmark = pytest.mark.usefixtures("both")
TRACE = {
    "program": "ls", "argument_count": 1, "status": 0, "signal": None, "timed_out": False,
    "cancelled": False, "truncated": False, "stdout_bytes": 3, "stderr_bytes": 0,
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


def _rich(people: Cast) -> Run:
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


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_the_tables_agree_with_the_journal(people, seed):
    chance = random.Random(seed)
    keys = ["a", "b", "c"][: 1 + seed % 3]
    needs = {"c": ["a"]} if "c" in keys else {}
    for _ in range(2):
        run = a_run(*keys, needs=needs, max_attempts=2)
        player = Player(people, run, chance)
        for _ in range(8):
            player.play(2)
            assert replay.check(run.pk) == ""
        recompute(run.pk)
        before = _picture(run.pk)
        replay.rebuild(run.pk)
        assert replay.check(run.pk) == ""
        assert _picture(run.pk) == before


LEFT_OUT = {"available_at", "lease_seq", "lease_expires_at", "id"}
"""What the journal does not hold: renewals, when a task may be claimed, numbers of rows."""


def _picture(run: str) -> dict[str, Any]:
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
NO_PROJECTION = {
    "Task": {"available_at", "lease_seq", "lease_expires_at", "run", "id"},
    "Run": {"id", "anchored_seq"},
    "Artifact": {"created_at", "id", "run"},
    "Approval": {"id", "run"},
    "Grant": {"id"},
    "Trace": {"id", "run", "seq"},
    "PolicyDecision": {"id", "run", "seq"},
}
"""Keys, and what the run's own chain does not hold (anchors stand in the system's)."""
KEYS = {(Artifact, "action"), (Artifact, "sha256"), (Artifact, "name")}
"""With another of these it is another reference, and the one of the journal is missing."""
SPECIAL: dict[tuple[str, str], Any] = {
    ("Task", "state"): "failed",
    ("Task", "write_paths"): ["x"],
    ("Approval", "state"): "denied",
}


def _other(field: models.Field, value: Any, row: models.Model) -> Any:
    """Another value that the column takes."""
    special = SPECIAL.get((type(row).__name__, field.name))
    if special is not None:
        return special
    if isinstance(field, models.ForeignKey):
        others = field.related_model._default_manager.exclude(pk=value)
        return others.values_list("pk", flat=True).first()
    if isinstance(field, models.BooleanField):
        return not value
    if isinstance(field, models.DateTimeField):
        return (value or now()) + timedelta(seconds=1)
    if isinstance(field, models.IntegerField):
        return (value or 0) + 1
    text = "x" if not value else ("y" if value[0] == "x" else "x") + value[1:]
    return text


def test_every_column_of_every_projection_is_compared(people):
    run = _rich(people)
    Workspace.objects.create(
        name="other", root="/o", is_git=True, created_at=now(), created_by="alice"
    )
    without_guards()
    missed = []
    for model, join, order in MODELS:
        row = model._default_manager.filter(**{join: run.pk}).order_by(order).last()
        for field in model._meta.concrete_fields:
            if field.name in NO_PROJECTION[model.__name__]:
                continue
            before = getattr(row, field.attname)
            after = _other(field, before, row)
            assert after != before, field
            rows = model._default_manager.filter(pk=row.pk)
            more: dict[str, Any] = {}
            if (model, field.name) == (Task, "state") and row.lease_expires_at:
                more = {"lease_expires_at": None}
            rows.update(**{field.attname: after}, **more)
            difference = replay.check(run.pk)
            named = field.name in difference or (model, field.name) in KEYS
            if not difference or not named:
                missed.append((model.__name__, field.name, difference))
            restore = {name: getattr(row, name) for name in more}
            rows.update(**{field.attname: before}, **restore)
            assert replay.check(run.pk) == ""
    assert missed == []


DELETED: dict[str, Callable[[Run], Any]] = {
    "run": lambda run: _delete_run(run),
    "tasks": lambda run: Task.objects.filter(run=run).delete(),
    "approvals": lambda run: _delete_approvals(run),
    "grants": lambda run: Grant.objects.all().delete(),
    "traces": lambda run: Trace.objects.filter(run=run.pk).delete(),
    "decisions": lambda run: PolicyDecision.objects.filter(run=run.pk).delete(),
    "artifacts": lambda run: Artifact.objects.filter(run=run).delete(),
}


def _delete_approvals(run: Run) -> None:
    Grant.objects.filter(approval__run=run).delete()
    Approval.objects.filter(run=run).delete()


def _delete_run(run: Run) -> None:
    """Everything but the events."""
    _delete_approvals(run)
    for model in (Trace, PolicyDecision):
        model._default_manager.filter(run=run.pk).delete()
    Run.objects.filter(pk=run.pk).delete()


def test_X23_whatever_was_deleted_is_back_as_it_was(people):
    run = _rich(people)
    DELETED["tasks"] = lambda run: (_delete_approvals(run), Task.objects.filter(run=run).delete())
    before = _picture(run.pk)
    for what, delete in DELETED.items():
        delete(run)
        assert replay.check(run.pk) != "", what
        replay.rebuild(run.pk)
        assert replay.check(run.pk) == "", what
        assert _picture(run.pk) == before, what
        assert verify.verify(run.pk)["ok"]
    recompute(run.pk)


def test_X23_every_run_is_found_by_its_events_alone(people):
    made = [_rich(people), a_run()]
    for run in made:
        _delete_run(run)
    assert replay.runs() == sorted(run.pk for run in made)
    assert "its row is missing" in replay.check(made[1].pk)
    for run in replay.runs():
        replay.rebuild(run)
    assert [replay.check(run) for run in replay.runs()] == ["", ""]


def test_a_rebuilt_run_goes_on(people):
    run = a_run()
    claimed(run)
    _delete_run(run)
    replay.rebuild(run.pk)
    task = Task.objects.get(run=run.pk)
    assert (task.state, task.lease_owner != "") == ("running", True)
    Task.objects.update(lease_expires_at=now() - timedelta(hours=1))
    Task.objects.update(lease_owner=dead())
    assert tasks.reap() == 1
    claim = tasks.claim("x", run=run.pk)
    with tasks.held(claim) as hold:
        hold.move("succeeded", TaskSucceeded(summary="done"))
    recompute(run.pk)
    assert replay.check(run.pk) == ""


def test_a_task_in_a_wrong_state_is_put_right_with_its_edges(people):
    run = a_run("a", "b", needs={"b": ["a"]})
    without_guards()
    Task.objects.filter(run=run, key="b").update(state="succeeded")
    Task.objects.filter(run=run, key="a").update(state="skipped")
    assert "state is" in replay.check(run.pk)
    replay.rebuild(run.pk)
    assert replay.check(run.pk) == ""
    with tasks.held(claimed(run)) as hold:
        hold.move("succeeded", TaskSucceeded())
    assert state(Task.objects.get(run=run, key="b").pk) == "ready"


def test_rows_that_no_event_made_are_found_and_removed(people):
    run = a_run()
    Artifact.objects.create(
        run=run, sha256="0" * 64, name="n", kind="k", size=1, created_at=run.created_at
    )
    assert "no event refers to it" in replay.check(run.pk)
    replay.rebuild(run.pk)
    assert replay.check(run.pk) == ""
    assert not Artifact.objects.exists()
    Task.objects.create(
        id="x" * 26, run=run, key="x", kind="k", role="r", state="ready", available_at=now()
    )
    assert "no event made this row" in replay.check(run.pk)


def test_a_run_without_events_is_a_difference_and_an_unknown_one_is_not_found():
    Run.objects.create(pk="r" * 26, head_hash="h", created_at=now())
    assert "no event made this row" in replay.check("r" * 26)
    assert "r" * 26 in replay.runs()
    for call in (replay.check, replay.rebuild):
        with pytest.raises(NotFound, match="nowhere"):
            call("nowhere")


@pytest.mark.parametrize("fault", ["changed", "last removed", "removed", "inserted"])
def test_nothing_is_built_on_a_broken_chain(fault):
    run = claimed().run
    without_guards()
    of = "WHERE run = %s AND seq = %s"
    if fault == "changed":
        sql(f"UPDATE runtime_event SET payload = '{{}}' {of}", run, 2)
    elif fault == "inserted":
        event = Event.objects.filter(run=run).values().last()
        Event.objects.create(**{**event, "id": None, "seq": 4})
    else:
        sql(f"DELETE FROM runtime_event {of}", run, 3 if fault == "last removed" else 2)
    same = nothing_changed(run)
    with pytest.raises(Refused, match="broken"):
        replay.rebuild(run)
    assert same()
    assert not verify.verify(run)["ok"]


def test_an_event_that_cannot_be_followed_is_named(people):
    run = a_run()
    without_guards()
    sql("UPDATE runtime_event SET payload = '{}' WHERE run = %s AND seq = 1", run.pk)
    assert "event 1 (run.submitted) cannot be followed" in replay.check(run.pk)
    with pytest.raises(folding.Unfoldable, match="event 1"):
        replay.expected(run.pk)


def test_a_lost_artifact_of_a_moved_field_is_a_difference(people):
    from runtime import blobs

    approval = ask(claimed())
    approvals.decide(approval.pk, by=people.bob, verdict="deny", comment="é" * 4000)
    assert replay.check(approval.run_id) == ""
    reference = Artifact.objects.get(name="approval.denied comment")
    kept = blobs.get(reference.sha256)
    blobs.path(reference.sha256).unlink()
    assert reference.sha256 in replay.check(approval.run_id)
    blobs.put(kept)
    assert replay.check(approval.run_id) == ""


def test_times_are_compared_to_the_microsecond(people):
    run = a_run()
    moment: datetime = Run.objects.get(pk=run.pk).created_at
    Run.objects.filter(pk=run.pk).update(created_at=moment + timedelta(microseconds=1))
    assert "created_at" in replay.check(run.pk)
