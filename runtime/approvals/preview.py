"""What a wider answer would remember, told by what was recorded before the answer is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db.models import QuerySet

from runtime.journal.kinds import ActionProposed
from runtime.journal.rows import COLUMNS, from_columns
from runtime.models import Approval, Event, PolicyDecision, Run, User

MOST = 3
"""Actions of each sort."""
_LOOKED = 60
"""Recorded decisions that are looked through for the ones that differ."""


class Known(NamedTuple):
    """An action, and where it was recorded; an example was not."""

    action: dict[str, Any]
    run: str = ""
    seq: int = 0


class Preview(NamedTuple):
    """`saved` is the action that is remembered, as its exact `key`."""

    key: str
    saved: dict[str, Any]
    covered: list[Known]
    others: list[Known]


def preview(approval: Approval, action: dict[str, Any], viewer: User) -> Preview:
    """What a wider answer to an approval remembers: exactly one action, by its key.

    Three actions that it covers and three that it does not: recorded ones of the same workspace
    that the viewer may see; of those that it does not cover, examples fill up what is missing.
    """
    runs = Run.objects.visible_to(viewer).filter(workspace=approval.run.workspace_id)
    known = PolicyDecision.objects.filter(run__in=runs.values("pk"))
    same = known.filter(key=approval.key).exclude(action=approval.action).order_by("-id")
    covered = [Known(action), *_some(same, MOST - 1, distinct=False)]
    different = known.filter(kind=approval.action_kind).exclude(key=approval.key).order_by("-id")
    others = _some(different, MOST, distinct=True)
    for example in _variants(action):
        if len(others) < MOST:
            others.append(Known(example))
    return Preview(approval.key, action, covered, others)


def _some(rows: QuerySet[PolicyDecision], most: int, *, distinct: bool) -> list[Known]:
    found: list[Known] = []
    seen: set[str] = set()
    for row in rows[:_LOOKED]:
        if len(found) == most:
            break
        if row.action in seen or (distinct and row.key in seen):
            continue
        seen |= {row.action, row.key} if distinct else {row.action}
        body = _proposed(row)
        if body is not None:
            found.append(Known(body, row.run, row.seq))
    return found


def _proposed(row: PolicyDecision) -> dict[str, Any] | None:
    """The action that a decision was about, where it stands in the journal itself."""
    events = Event.objects.filter(
        run=row.run, task=row.task, type=ActionProposed.type, seq__lt=row.seq
    )
    columns = events.order_by("-seq").values_list(*COLUMNS).first()
    if columns is None:
        return None
    event = from_columns(columns).payload
    body = event.get("body")
    if event.get("action") != row.action or not isinstance(body, dict) or "kind" not in body:
        return None
    return body


def _variants(action: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The like of an action that has another key."""
    if isinstance(action.get("args"), list):
        yield {**action, "args": [*action["args"], "--more"]}
        if action["args"]:
            yield {**action, "args": action["args"][:-1]}
    if isinstance(action.get("script"), str):
        yield {**action, "script": f"{action['script']} --more"}
        yield {**action, "script": f"{action['script']}; true"}
    if isinstance(action.get("path"), str):
        yield {**action, "path": f"{action['path']}.other"}
    if action.get("kind") == "git_push":
        for other in ({"ref": "another"}, {"remote": "another"}, {"remote": "another", "ref": "x"}):
            yield {**action, **other}
    if action.get("kind") in {"run_tool", "run_shell"}:
        yield {**action, "cwd": f"{action.get('cwd', '.')}/elsewhere"}
