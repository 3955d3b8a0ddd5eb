"""Every projection of a run, computed from its events alone. Pure.

What the journal does not hold (renewals of leases, when a task may be claimed) is not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from runtime.core import amounts, canonical, clock
from runtime.journal.draft import moved
from runtime.journal.rows import EventRow
from runtime.workflow import reminders
from runtime.workflow.states import LEASED, run_state

Fields = dict[str, Any]
ArtifactKey = tuple[str, str, str]
"""Action, SHA-256, name."""


@dataclass
class Projections:
    """Rows by id; traces and decisions by event number, artifacts by what makes them one."""

    run: Fields = field(default_factory=dict)
    tasks: dict[str, Fields] = field(default_factory=dict)
    approvals: dict[str, Fields] = field(default_factory=dict)
    grants: dict[str, Fields] = field(default_factory=dict)
    traces: dict[int, Fields] = field(default_factory=dict)
    decisions: dict[int, Fields] = field(default_factory=dict)
    artifacts: dict[ArtifactKey, Fields] = field(default_factory=dict)
    kinds: set[tuple[str, int]] = field(default_factory=set)
    """Types and versions as they were written."""


class Unfoldable(ValueError):
    """An event does not say what its kind should; the text names it."""


def fold(events: Iterable[tuple[EventRow, EventRow]]) -> Projections:
    """The projections after events, each given as it is stored and with its payload whole.

    Raises `Unfoldable`.
    """
    made = Projections()
    for stored, event in events:
        rule = _RULES.get(event.type)
        try:
            if rule is not None:
                rule(made, event)
            _spent(made, event)
            _references(made, stored, event)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise Unfoldable(
                f"event {event.seq} ({event.type}) cannot be followed: {error!r}"
            ) from error
        made.run["event_seq"], made.run["head_hash"] = event.seq, event.hash
        made.kinds.add(stored.written()[:2])
    if made.tasks and made.run.get("state") in (None, "running", "waiting", "planning"):
        made.run["state"] = str(
            run_state(
                [task["state"] for task in made.tasks.values()],
                cancel_requested=made.run["cancel_requested"],
                unhandled_failure=False,
            )
        )
    return made


def _spent(made: Projections, event: EventRow) -> None:
    """What the event says was used, counted on its task."""
    task = made.tasks.get(str(event.task))
    if task is not None and (used := event.payload.get("spent")):
        task["spent"] = amounts.written(amounts.add(amounts.read(task["spent"]), used))


def _references(made: Projections, stored: EventRow, event: EventRow) -> None:
    action = str(event.payload.get("action", ""))
    left = event.payload.get("left")
    written = stored.written()
    facts = [
        *event.payload.get("artifacts", []),
        *([left] if left else []),
        *(
            {"sha256": digest, "name": f"{written.type} {name}", "kind": "event", "size": size}
            for name, digest, size in moved(written.payload)
        ),
    ]
    for fact in facts:
        made.artifacts.setdefault(
            (action, fact["sha256"], fact["name"]),
            {"task": event.task, "kind": fact["kind"], "size": fact["size"], "at": event.at},
        )


def _submitted(made: Projections, event: EventRow) -> None:
    p = event.payload
    copied = (
        "objective",
        "workflow",
        "provider",
        "script",
        "mode",
        "require_edit",
        "max_steps",
        "max_attempts",
        "submitted_by",
        "base",
    )
    made.run.update({name: p[name] for name in copied if name in p})
    made.run.update(
        workspace=p["workspace"],
        key=p.get("key"),
        uid=p.get("uid"),
        created_at=event.at,
        cancel_requested=False,
        generation=0,
        reason="",
        steps=0,
        input_tokens=0,
        output_tokens=0,
        ended_at=None,
        state="running",
        budgets=amounts.written(p.get("budgets") or {}),
    )
    for task in p["tasks"]:
        made.tasks[task["task"]] = {
            "key": task["key"],
            "kind": task["kind"],
            "role": task["role"],
            "state": "blocked",
            "reason": "",
            "attempt": 0,
            "fence": 0,
            "fresh_attempt": True,
            "crashes": 0,
            "steps": 0,
            "spent": "",
            "objective": p["objective"],
            "priority": 0,
            "write_paths": [],
            "lease_owner": "",
        }


def _moves(state: str, **more: Any) -> Callable[[Projections, EventRow], None]:
    values = {"lease_owner": "", **more} if state not in LEASED else more

    def rule(made: Projections, event: EventRow) -> None:
        made.tasks[str(event.task)].update(state=state, **values)

    return rule


def _ready(made: Projections, event: EventRow) -> None:
    task = made.tasks[str(event.task)]
    task.update(state="ready", lease_owner="")
    if event.payload["why"] == "lease_lost":
        task.update(fresh_attempt=True)


def _claimed(made: Projections, event: EventRow) -> None:
    made.tasks[str(event.task)].update(
        state="running",
        attempt=event.attempt,
        fence=event.fence,
        fresh_attempt=False,
        lease_owner=event.payload["owner"],
    )


def _lease_expired(made: Projections, event: EventRow) -> None:
    made.tasks[str(event.task)].update(crashes=event.payload["crashes"])


def _task_failed(made: Projections, event: EventRow) -> None:
    made.tasks[str(event.task)].update(
        state="failed", reason=event.payload["reason"], lease_owner=""
    )


def _task_retried(made: Projections, event: EventRow) -> None:
    task = made.tasks[str(event.task)]
    again = "ready" if task["state"] == "failed" else "blocked"
    task.update(state=again, reason="", fresh_attempt=True, steps=0)


def _message(made: Projections, event: EventRow) -> None:
    made.tasks[str(event.task)]["steps"] += 1
    made.run["steps"] += 1
    made.run["input_tokens"] += event.payload["input_tokens"]
    made.run["output_tokens"] += event.payload["output_tokens"]


def _ended(state: str) -> Callable[[Projections, EventRow], None]:
    def rule(made: Projections, event: EventRow) -> None:
        reason = "cancelled" if state == "cancelled" else event.payload.get("reason", "")
        made.run.update(state=state, reason=reason, ended_at=event.at)

    return rule


def _cancel_requested(made: Projections, event: EventRow) -> None:
    made.run["cancel_requested"] = True


def _run_retried(made: Projections, event: EventRow) -> None:
    made.run.update(
        state="running",
        reason="",
        ended_at=None,
        generation=event.payload["generation"],
        max_attempts=event.payload["max_attempts"],
    )


def _budget_granted(made: Projections, event: EventRow) -> None:
    name, limit = event.payload["budget"], event.payload["limit"]
    if name in ("steps", "attempts"):
        made.run[f"max_{name}"] = limit
    else:
        given = amounts.read(made.run["budgets"])
        made.run["budgets"] = amounts.written({**given, name: limit})


def _requested(made: Projections, event: EventRow) -> None:
    p = event.payload
    made.approvals[p["approval"]] = {
        "task": event.task,
        "kind": "question" if p["kind"] in ("ask_human", "budget") else "action",
        "action": p["action"],
        "action_kind": p["kind"],
        "decision": p["decision"],
        "rule": p["rule"],
        "risk": p["risk"],
        "key": p["key"],
        "digest": p["digest"],
        "card": p["card"],
        "state": "pending",
        "submitted_by": made.run["submitted_by"],
        "requested_at": event.at,
        "expires_at": p["expires_at"],
        "decided_by": None,
        "decided_at": None,
        "comment": "",
        "scope": "once",
        "consumed_fence": 0,
        "reminded": 0,
    }
    _remind_at(made.approvals[p["approval"]])


def _reminded(made: Projections, event: EventRow) -> None:
    approval = made.approvals[event.payload["approval"]]
    approval["reminded"] = event.payload["nth"]
    _remind_at(approval)


def _remind_at(approval: Fields) -> None:
    span = clock.moment(approval["requested_at"]), clock.moment(approval["expires_at"])
    due = reminders.following(*span, approval["reminded"])
    approval["remind_at"] = clock.stamp(due) if due else None


def _answered(state: str) -> Callable[[Projections, EventRow], None]:
    def rule(made: Projections, event: EventRow) -> None:
        p = event.payload
        made.approvals[p["approval"]].update(
            state=state,
            decided_by=event.actor.removeprefix("user:"),
            decided_at=event.at,
            comment=p.get("comment", ""),
            scope=p.get("scope", "once"),
        )

    return rule


def _left(state: str) -> Callable[[Projections, EventRow], None]:
    def rule(made: Projections, event: EventRow) -> None:
        made.approvals[event.payload["approval"]]["state"] = state

    return rule


def _consumed(made: Projections, event: EventRow) -> None:
    made.approvals[event.payload["approval"]]["consumed_fence"] = event.fence


def _granted(made: Projections, event: EventRow) -> None:
    p = event.payload
    made.grants[p["grant"]] = {
        "key": p["key"],
        "scope": p["scope"],
        "subject": p["subject"],
        "lifts": p["lifts"],
        "approval": p["approval"],
        "granted_by": event.actor.removeprefix("user:"),
        "granted_at": event.at,
        "rule": canonical.text(p["rule"]) if p.get("rule") else "",
        "expires_at": p.get("expires_at"),
        "revoked_at": None,
        "revoked_by": None,
    }


def _revoked(made: Projections, event: EventRow) -> None:
    made.grants[event.payload["grant"]].update(
        revoked_at=event.at, revoked_by=event.actor.removeprefix("user:")
    )


def _decided(made: Projections, event: EventRow) -> None:
    copied = ("action", "kind", "decision", "rule", "source", "key")
    made.decisions[event.seq] = {
        **{name: event.payload[name] for name in copied},
        "task": event.task,
        "at": event.at,
    }


def _completed(made: Projections, event: EventRow) -> None:
    trace = event.payload.get("trace")
    if trace is not None:
        made.traces[event.seq] = {
            "limit": None,  # which earlier releases did not say
            **trace,
            "sandbox": canonical.text(trace["sandbox"]),
            "task": event.task,
            "attempt": event.attempt,
            "action": event.payload["action"],
        }


_RULES: dict[str, Callable[[Projections, EventRow], None]] = {
    "run.submitted": _submitted,
    "run.cancel_requested": _cancel_requested,
    "run.retried": _run_retried,
    "budget.granted": _budget_granted,
    "run.succeeded": _ended("succeeded"),
    "run.failed": _ended("failed"),
    "run.cancelled": _ended("cancelled"),
    "task.ready": _ready,
    "task.demoted": _moves("blocked"),
    "task.claimed": _claimed,
    "task.released": _moves("ready", fresh_attempt=False),
    "task.waiting": _moves("waiting", fresh_attempt=False),
    "task.lease_expired": _lease_expired,
    "task.cancelling": _moves("cancelling"),
    "task.cancelled": _moves("cancelled"),
    "task.succeeded": _moves("succeeded"),
    "task.failed": _task_failed,
    "task.skipped": _moves("skipped"),
    "task.retried": _task_retried,
    "message.completed": _message,
    "approval.requested": _requested,
    "approval.approved": _answered("approved"),
    "approval.denied": _answered("denied"),
    "approval.expired": _left("expired"),
    "approval.cancelled": _left("cancelled"),
    "approval.superseded": _left("superseded"),
    "approval.consumed": _consumed,
    "approval.reminded": _reminded,
    "grant.created": _granted,
    "grant.revoked": _revoked,
    "policy.decided": _decided,
    "action.completed": _completed,
    "job.ended": _completed,
}
