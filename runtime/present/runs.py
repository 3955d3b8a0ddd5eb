"""Runs as lines of a list, and as the header of their page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime import budgets
from runtime.core import canonical
from runtime.models import Approval, Run, Task

from . import actions, badges, html, reasons, text, units

ENDED = frozenset({"succeeded", "failed", "cancelled"})


def line(run: Run, question: Approval | None, holder: Task | None, now: datetime) -> dict[str, Any]:
    """A run in the list: state, objective, where, who, age, cost, and what it waits for."""
    return {
        "id": run.pk,
        "state": badges.state(run.state),
        "objective": text.short(run.objective, 200),
        "workspace": text.visible(run.workspace.name if run.workspace else "–"),
        "who": text.visible(run.submitted_by),
        "age": units.ago(run.created_at, now),
        "cost": cost(run),
        "note": _note(run, question, holder, now),
        "short": html.short_id(run.pk, "run"),
    }


def cost(run: Run) -> str:
    """Steps and tokens used."""
    tokens = run.input_tokens + run.output_tokens
    return f"{units.count(run.steps, 'step')}, {units.count(tokens, 'token')}"


def _note(run: Run, question: Approval | None, holder: Task | None, now: datetime) -> SafeString:
    if question is not None:
        return format_html(
            '<a href="/approvals/{}/">{} {}</a>',
            question.pk,
            badges.decision(question.decision),
            ask(question),
        )
    if holder is not None and holder.lease_expires_at is not None:
        return format_html(
            'held by <span class="mono">{}</span>, lease ends {}',
            text.short(owner(holder.lease_owner), 60),
            units.ago(holder.lease_expires_at, now),
        )
    if run.state == "failed":
        return reasons.sentence(run.reason)
    return html.EMPTY


def owner(incarnation: str) -> str:
    """The holder of a lease by host and process; the whole name is machinery."""
    parts = incarnation.split("/")
    if len(parts) != 5:
        return text.plain(incarnation) or "nobody"
    return f"{parts[0]}, process {parts[2]}"


def ask(question: Approval) -> SafeString:
    """What a question is about, as part of a sentence."""
    card = canonical.decode(question.card)
    action = card.get("action") if isinstance(card, dict) else None
    if question.kind == Approval.Kind.QUESTION:
        said = card.get("question") or (action or {}).get("question") or ""
        if question.action_kind == "budget":
            return text.short(str(card.get("sentence") or "a budget nears its end"), 120)
        return format_html("the model asks: {}", text.short(str(said), 120))
    body = action if isinstance(action, dict) else None
    return format_html("may it {}?", actions.sentence(question.action_kind, body))


def header(
    run: Run, tasks: Sequence[Task], question: Approval | None, now: datetime
) -> dict[str, Any]:
    """The top of a run's page: one sentence, the state, the meters, who holds the lease."""
    held = [task for task in tasks if task.lease_expires_at is not None]
    found = budgets.lines(run, tasks)
    return {
        "id": run.pk,
        "state": run.state,
        "badge": badges.state(run.state),
        "sentence": sentence(run, tasks, question, now),
        "next": reasons.next_step(run.reason) if run.state == "failed" else "",
        "ended": run.state in ENDED,
        "cancelling": run.cancel_requested and run.state not in ENDED,
        "meters": meters(run, found, now),
        "budgets": [meter(one) for one in found],
        "others": [meter(one) for one in found if one.name not in SHOWN],
        "may_grow": run.state not in {"succeeded", "cancelled"},
        "holders": [
            {
                "task": text.visible(task.key),
                "owner": text.visible(owner(task.lease_owner)),
                "full": text.plain(task.lease_owner),
                "until": units.ago(task.lease_expires_at, now),
            }
            for task in held
            if task.lease_expires_at is not None
        ],
        "tasks": [
            {
                "key": text.visible(task.key),
                "kind": text.visible(task.kind),
                "role": text.visible(task.role),
                "badge": badges.state(task.state),
                "attempt": task.attempt,
                "steps": task.steps,
            }
            for task in tasks
        ],
        "consequence": consequence(tasks),
        "retry_attempts": max([run.max_attempts, *(task.attempt + 1 for task in tasks)]),
    }


def consequence(tasks: Sequence[Task]) -> str:
    """What cancelling does right now."""
    running = sum(task.state == "running" for task in tasks)
    waiting = sum(task.state == "waiting" for task in tasks)
    if running:
        return f"stops {units.count(running, 'task')} and kills what it runs"
    if waiting:
        return f"withdraws {units.count(waiting, 'question')}"
    return "no task will start"


def sentence(
    run: Run, tasks: Sequence[Task], question: Approval | None, now: datetime
) -> SafeString:
    """What the run is doing, and why it is not doing more."""
    if run.state in ENDED:
        return _ending(run, now)
    if run.cancel_requested:
        return html.fixed("Cancelling: the worker was told to stop.")
    if question is not None:
        return format_html(
            "Waits for a person since {}: {}", units.ago(question.requested_at, now), ask(question)
        )
    if any(task.state == "running" for task in tasks):
        return format_html(
            "A worker is on it: step {} of at most {}.", run.steps + 1, run.max_steps
        )
    if any(task.state == "ready" for task in tasks):
        return format_html("Ready; waits for a free worker since {}.", _since(tasks, now))
    return html.fixed("Nothing can run yet.")


def _since(tasks: Sequence[Task], now: datetime) -> SafeString:
    return units.ago(min(t.available_at for t in tasks if t.state == "ready"), now)


def _ending(run: Run, now: datetime) -> SafeString:
    when = units.ago(run.ended_at, now) if run.ended_at else html.EMPTY
    took = units.span(run.ended_at - run.created_at) if run.ended_at else ""
    if run.state == "succeeded":
        return format_html(
            "Succeeded {} after {} in {}.", when, units.count(run.steps, "step"), took
        )
    if run.state == "failed":
        return format_html("Failed {}: {}", when, reasons.sentence(run.reason))
    return format_html("Cancelled {} after {}.", when, units.count(run.steps, "step"))


SHOWN = ("steps", "attempts", "cost", "input_tokens", "output_tokens")
"""Budgets that are always in sight; the others unfold."""


def meters(run: Run, found: Sequence[budgets.Line], now: datetime) -> list[dict[str, Any]]:
    """The budgets that are always in sight, and the time since the submission."""
    elapsed = (run.ended_at or now) - run.created_at
    return [
        *(meter(one) for one in found if one.name in SHOWN),
        {"name": "since the start", "words": units.span(elapsed)},
    ]


def meter(one: budgets.Line) -> dict[str, Any]:
    """What is used of what is allowed."""
    budget = budgets.BUDGETS[one.name]
    about = f"{budgets.shown(one.name, one.estimated)} of it estimated" if one.estimated else ""
    ahead = f"{budgets.shown(one.name, one.reserved)} reserved" if one.reserved else ""
    return {
        "key": one.name,
        "name": budget.title,
        "value": min(one.used, one.limit),
        "max": one.limit,
        "words": one.text(),
        "more": ", ".join(part for part in (about, ahead) if part),
    }
