"""Kinds and versions of events that not every version of this program reads.

Old and new workers may stand side by side. A run whose record holds what a worker does not know
would fold to less than was done there; so it is left to a worker that knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import BooleanField, Func, Q, QuerySet

from runtime.core import ids
from runtime.core.errors import Refused
from runtime.models import NewerKind

from .kinds import REGISTRY
from .prepared import Prepared
from .rows import EventRow

Kind = tuple[str, int]
"""Type and version."""

_FIRST = {
    "action": "completed edited outcome_unknown proposed refused started",
    "anchor": "made",
    "answer": "refused",
    "approval": "approved cancelled consumed denied expired reminded requested superseded",
    "budget": "granted",
    "checkpoint": "created",
    "context": "compacted",
    "delivery": "completed",
    "finish": "refused",
    "grant": "created revoked",
    "guarded_files": "changed",
    "job": "ended started",
    "link": "made",
    "loop": "warned",
    "message": "completed cut",
    "model": "failed",
    "person": "added password_set signed_in signed_out",
    "policy": "decided loaded",
    "run": "cancel_requested cancelled failed retried submitted succeeded",
    "sandbox": "available unavailable",
    "sign_in": "refused",
    "task": "cancelled cancelling claimed demoted failed lease_expired ready released retried skipped"
    " succeeded waiting",
    "verification": "failed inputs_changed passed",
    "workspace": "registered",
    "worktree": "restored",
}
EVERYWHERE = frozenset(f"{of_}.{name}" for of_, names in _FIRST.items() for name in names.split())
"""Types whose first version is read by every version that looks here. Nothing is ever added."""


class Newer(Refused):
    """A run that was recorded by a newer version. `found`: what this one does not know of it."""

    def __init__(self, run: str, found: Iterable[Kind]) -> None:
        self.found = sorted(set(found))
        super().__init__(
            f"Run {run} was recorded by a newer version: {named(self.found)}.",
            remedy="This version leaves it alone; start that version, which goes on with it.",
        )


def named(found: Iterable[Kind]) -> str:
    """Types and versions in words."""
    return ", ".join(f"{type_} version {v}" for type_, v in found)


def beyond(kinds: Iterable[Kind]) -> list[Kind]:
    """Those that not every version reads, each once."""
    return sorted({(type_, v) for type_, v in kinds if v > 1 or type_ not in EVERYWHERE})


def known() -> tuple[Kind, ...]:
    """Those of them that this version reads. What `readable` filters by."""
    return tuple(beyond((kind.type, kind.v) for kind in REGISTRY.values()))


class _Beyond(Func):
    """Of a run: whether its record holds what this version does not know. Written by hand, for the
    many that ask it of a list: the ORM takes longer to make the text than the database to answer."""

    output_field = BooleanField()
    arity = 1

    def as_sql(
        self,
        compiler: Any,
        connection: Any,
        function: str | None = None,
        template: str | None = None,
        arg_joiner: str | None = None,
        **more: Any,
    ) -> Any:
        read = "".join(f" AND NOT (k.type = '{type_}' AND k.v <= {v})" for type_, v in known())
        table = connection.ops.quote_name(NewerKind._meta.db_table)
        template = f"EXISTS (SELECT 1 FROM {table} k WHERE k.run_id = %(expressions)s{read})"
        return super().as_sql(compiler, connection, function, template, arg_joiner, **more)


def beyond_us() -> _Beyond:
    """Of rows with a run: whether its record holds what this version does not know."""
    return _Beyond("run")


def readable() -> Q:
    """The opposite, as a filter: one look at an index for each row."""
    return ~Q(beyond_us())


def of(run: str) -> list[Kind]:
    """What this version does not know of a run's record; mostly nothing. Asked before every step."""
    return sorted((type_, v) for type_, v in _KINDS.columns(run) if not _knows(type_, v))


def _kinds(run: str) -> QuerySet[Any]:
    return NewerKind.objects.filter(run=run).values_list("type", "v")


_KINDS: Prepared[Any] = Prepared(_kinds)


def _knows(type_: str, v: int) -> bool:
    kind = REGISTRY.get(type_)
    return kind is not None and v <= kind.v


def of_all(runs: Sequence[str]) -> dict[str, list[Kind]]:
    """The same of each of some runs, as far as there is anything."""
    found: dict[str, list[Kind]] = {}
    for row in NewerKind.objects.filter(run__in=runs).order_by("type", "v"):
        if not _knows(row.type, row.v):
            found.setdefault(row.run_id, []).append((row.type, row.v))
    return found


def require(run: str) -> None:
    """Raise `Newer` for a run whose record this version does not know in full.

    For those who build on what was done there. What only ends or forbids needs no such look.
    """
    if found := of(run):
        raise Newer(run, found)


def strange(row: EventRow) -> Kind | None:
    """Type and version of an event that this version does not know; none where it does."""
    type_, v = (row.type, row.v) if row.stored is None else row.stored[:2]
    return None if _knows(type_, v) else (type_, v)


def of_record(run: str, kinds: Iterable[Kind]) -> list[Kind]:
    """Those that are to be noted of a run's record. Of the system's chain nobody goes on with
    anything, so it has none."""
    return [] if run == ids.SYSTEM_RUN else beyond(kinds)


def rows(run: str, kinds: Iterable[Kind]) -> list[NewerKind]:
    """Rows for them, not saved."""
    return [NewerKind(run_id=run, type=type_, v=v) for type_, v in of_record(run, kinds)]
