"""Rows that are read off an action's events and go in with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.artifacts import ArtifactFact
from runtime.core import amounts, canonical, clock
from runtime.journal.append import now
from runtime.journal.kind import Payload
from runtime.journal.kinds import JobEnded, PolicyDecided
from runtime.journal.statements import Row
from runtime.models import Artifact, PolicyDecision, Task, Trace
from runtime.tasks import Hold

from .session import Session
from .spending import spent_by


def artifact_rows(session: Session, action: str, facts: Sequence[ArtifactFact]) -> list[Row]:
    """A reference to each artifact."""
    common = {
        "run_id": session.run.pk,
        "task": session.task.pk,
        "action": action,
        "created_at": now(),
    }
    return [Row(Artifact, {**common, **fact.payload()}) for fact in facts]


def trace_row(session: Session, action: str, trace: dict[str, Any], index: int) -> Row:
    """The metadata of an executed command; `index` is that of its event."""
    values = {
        **trace,
        "sandbox": canonical.text(trace["sandbox"]),
        "run": session.run.pk,
        "task": session.task.pk,
        "attempt": session.claim.attempt,
        "action": action,
    }
    return Row(Trace, values, seq_of=index)


def job_rows(session: Session, events: Sequence[Payload]) -> list[Row]:
    """Traces and artifacts of the jobs whose end is among some events."""
    common = {"run_id": session.run.pk, "task": session.task.pk, "created_at": now()}
    rows: list[Row] = []
    for index, event in enumerate(events):
        if isinstance(event, JobEnded):
            rows += [
                Row(Artifact, {**common, "action": event.action, **fact})
                for fact in event.artifacts
            ]
            if event.trace is not None:
                rows.append(trace_row(session, event.action, event.trace, index))
    return rows


def decision_row(session: Session, event: PolicyDecided, index: int) -> Row:
    """A verdict, so that the audit can filter; `index` is that of its event."""
    values = {
        "run": session.run.pk,
        "task": session.task.pk,
        "action": event.action,
        "kind": event.kind,
        "decision": event.decision,
        "rule": event.rule,
        "source": event.source,
        "key": event.key,
        "at": "",
    }
    return Row(PolicyDecision, values, seq_of=index)


def record(hold: Hold, events: Sequence[Payload], rows: Sequence[Row]) -> None:
    """Add events within a hold, with their rows and what they used."""
    numbers = hold.record(events)
    if used := spent_by(events):
        spent = amounts.written(amounts.add(amounts.read(hold.task.spent), *used))
        Task.objects.filter(pk=hold.task.pk).update(spent=spent)
        hold.task.spent = spent
    _write(hold, rows, numbers)


def _write(hold: Hold, rows: Sequence[Row], numbers: dict[int, int]) -> None:
    """Insert rows, given the number of each event by its index."""
    at = clock.stamp(hold.book.at)
    for row in rows:
        made = row.model(**row.numbered(numbers.get(0, 0), at))
        # One command may leave the same bytes under the same name twice.
        row.model._default_manager.bulk_create([made], ignore_conflicts=row.model is Artifact)
