"""Reading the journal by run, person, decision, rule, tool, type and day, in keyset pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, Q, QuerySet

from runtime.core import ids
from runtime.core.actions import KINDS
from runtime.journal.rows import COLUMNS, EventRow, from_columns
from runtime.models import Event, PolicyDecision, Run, User

PAGE = 100
DECISIONS = ("ALLOW", "ASK", "ESCALATE", "DENY")
TOOLS = tuple(sorted(KINDS))
"""The kinds of action that a model may propose."""


@dataclass(frozen=True)
class Wish:
    """What the address asks for. `since` and `until` are days in UTC, both included; `before` is
    the row number of the page before."""

    run: str = ""
    person: str = ""
    decision: str = ""
    rule: str = ""
    tool: str = ""
    type: str = ""
    since: str = ""
    until: str = ""
    before: int = 0

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Wish:
        """From the query string, bounded."""
        before = query.get("before", "")
        decision = query.get("decision", "").upper()
        tool = query.get("tool", "").strip().lower()
        return cls(
            run=query.get("run", "").strip().lower()[:26],
            person=query.get("person", "").strip()[:150],
            decision=decision if decision in DECISIONS else "",
            rule=query.get("rule", "").strip()[:160],
            tool=tool if tool in TOOLS else "",
            type=query.get("type", "").strip()[:40],
            since=_day(query.get("since", "")),
            until=_day(query.get("until", "")),
            before=int(before) if before.isdecimal() and len(before) < 19 else 0,
        )

    def query(self, before: int = 0) -> str:
        """The query string of this wish."""
        parts = {
            "run": self.run,
            "person": self.person,
            "decision": self.decision,
            "rule": self.rule,
            "tool": self.tool,
            "type": self.type,
            "since": self.since,
            "until": self.until,
            "before": str(before) if before else "",
        }
        return urlencode({name: value for name, value in parts.items() if value})


def _day(text: str) -> str:
    """A day as `YYYY-MM-DD`; empty for anything else."""
    try:
        return date.fromisoformat(text.strip()[:10]).isoformat()
    except ValueError:
        return ""


def chains(user: User) -> Q:
    """Every run's chain that this person may see, and the one of what belongs to no run."""
    return Q(run__in=Run.objects.visible_to(user).values("pk")) | Q(run=ids.SYSTEM_RUN)


def rows(user: User, wish: Wish) -> tuple[list[tuple[int, EventRow]], bool]:
    """A page of events with their row numbers, newest first, and whether older ones follow."""
    found: QuerySet[Event] = Event.objects.filter(chains(user)).order_by("-id")
    if wish.run:
        found = found.filter(run=wish.run)
    if wish.person:
        found = found.filter(actor=f"user:{wish.person}")
    if wish.type:
        found = found.filter(type=wish.type)
    # Moments are text of one form, so that they compare as they follow each other.
    if wish.since:
        found = found.filter(at__gte=wish.since)
    if wish.until:
        found = found.filter(at__lt=f"{wish.until}T99")
    if wish.decision or wish.rule or wish.tool:
        found = _decided(found, wish)
    if wish.before:
        found = found.filter(pk__lt=wish.before)
    page = list(found.values_list("id", *COLUMNS)[: PAGE + 1])
    return [(row[0], from_columns(row[1:])) for row in page[:PAGE]], len(page) > PAGE


def _decided(found: QuerySet[Event], wish: Wish) -> QuerySet[Event]:
    """Only verdicts of this decision and rule on this tool, by the table that holds them."""
    verdicts = PolicyDecision.objects.filter(run=OuterRef("run"), seq=OuterRef("seq"))
    if wish.decision:
        verdicts = verdicts.filter(decision=wish.decision)
    if wish.rule:
        verdicts = verdicts.filter(rule=wish.rule)
    if wish.tool:
        verdicts = verdicts.filter(kind=wish.tool)
    return found.filter(Exists(verdicts), type="policy.decided")


def join(run: str, action: str) -> list[EventRow]:
    """Request, decision, answer and execution of one action, by its id, in order."""
    marked = Event.objects.filter(run=run, payload__contains=f'"action":"{action}"')
    return [from_columns(row) for row in marked.order_by("seq").values_list(*COLUMNS)[:PAGE]]
