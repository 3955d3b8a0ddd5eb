"""The tabs of a run's page. Each reads only what it shows, in bounded pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils import timezone

from runtime import artifacts, runs
from runtime.journal.rows import COLUMNS, from_columns
from runtime.models import Event, PolicyDecision, Run, Trace
from runtime.present import diffs, events, report
from runtime.present import tables as present

NAMES = ("timeline", "diff", "evidence", "artifacts", "traces", "policy", "report")
MOST = 200
"""Rows of a table on one page."""
PROOF = (
    "verification.passed",
    "verification.failed",
    "verification.inputs_changed",
    "guarded_files.changed",
    "finish.refused",
    "delivery.completed",
    "action.outcome_unknown",
)

Query = Mapping[str, str]


def chosen(name: str) -> str:
    """The tab of an address; the timeline where it is none."""
    return name if name in NAMES else "timeline"


def listed(run: Run, current: str) -> list[dict[str, Any]]:
    """The tabs as links."""
    return [
        {
            "label": name.capitalize(),
            "url": f"/runs/{run.pk}/" + (f"?tab={name}" if name != "timeline" else ""),
            "current": name == current,
        }
        for name in NAMES
    ]


def content(run: Run, tab: str, query: Query) -> dict[str, Any]:
    """What a tab shows."""
    return _CONTENT[tab](run, query)


def _diff(run: Run, query: Query) -> dict[str, Any]:
    text = runs.diff(run.pk)
    blanks = query.get("blanks") == "shown"
    return {
        "diff": diffs.render(text, blanks=blanks, anchors=True),
        "counts": diffs.counts(text),
        "blanks": blanks,
    }


def _evidence(run: Run, query: Query) -> dict[str, Any]:
    rows = Event.objects.filter(run=run.pk, type__in=PROOF).order_by("-seq")
    found = [from_columns(row) for row in rows.values_list(*COLUMNS)[:MOST]][::-1]
    return {"evidence": events.render_all(found)}


def _artifacts(run: Run, query: Query) -> dict[str, Any]:
    found = artifacts.for_run(run.pk)[: MOST + 1]
    return {"artifacts": present.artifacts(list(found)[:MOST]), "cut": len(found) > MOST}


def _traces(run: Run, query: Query) -> dict[str, Any]:
    rows = list(Trace.objects.filter(run=run.pk).order_by("-seq")[: MOST + 1])
    return {"traces": present.traces(rows[:MOST][::-1]), "cut": len(rows) > MOST}


def _policy(run: Run, query: Query) -> dict[str, Any]:
    rows = list(PolicyDecision.objects.filter(run=run.pk).order_by("-seq")[: MOST + 1])
    return {"decisions": present.decisions(rows[:MOST][::-1]), "cut": len(rows) > MOST}


def _report(run: Run, query: Query) -> dict[str, Any]:
    return {"report": report.view(report.gather(run.pk), timezone.now())}


_CONTENT: dict[str, Callable[[Run, Query], dict[str, Any]]] = {
    "diff": _diff,
    "evidence": _evidence,
    "artifacts": _artifacts,
    "traces": _traces,
    "policy": _policy,
    "report": _report,
}
