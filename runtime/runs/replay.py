"""Do the tables say what the journal says? And if not: make them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from django.db import models

from runtime.core import canonical, clock
from runtime.core.errors import NotFound
from runtime.journal.book import open_run
from runtime.journal.draft import whole
from runtime.journal.kinds import REGISTRY
from runtime.journal.read import every
from runtime.journal.rows import EventRow
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

from .folding import Fields, Projections, fold

_WHOLE = frozenset({"run.submitted", "approval.approved", "approval.denied"})


def runs() -> list[str]:
    """Every run that has events, oldest first; the system's chain left out."""
    found = Event.objects.filter(seq=1).exclude(run="system").order_by("id")
    return list(found.values_list("run", flat=True))


def expected(run: str) -> Projections:
    """What the events of a run say. Raises `NotFound` where there are none."""
    events = list(map(_whole, every(run)))
    if not events:
        raise NotFound(f"There is no run {run}.", remedy="`m31a status` lists the runs.")
    return fold(events)


def _whole(event: EventRow) -> EventRow:
    if event.type in _WHOLE:
        return event._replace(payload=whole(event.payload, REGISTRY[event.type]))
    return event


def check(run: str) -> str:
    """The first difference between the journal and the tables, or nothing. Only reads."""
    return next(iter(_differences(run, expected(run))), "")


def _differences(run: str, want: Projections) -> Iterator[str]:
    row: Fields | None = Run.objects.filter(pk=run).values().first()  # type: ignore[assignment]
    if row is None:
        yield f"run {run}: its row is missing"
        return
    row["workspace"] = (
        Workspace.objects.filter(pk=row["workspace_id"]).values_list("name", flat=True).first()
    )
    yield from _compare(f"run {run}", want.run, row)
    yield from _table("task", want.tasks, Task, "id", run, skip={"owner"})
    yield from _table("approval", _cards(want.approvals), Approval, "id", run)
    yield from _table("grant", want.grants, Grant, "id", run, join="approval__run")
    yield from _table("trace", want.traces, Trace, "seq", run)
    yield from _table("policy decision", want.decisions, PolicyDecision, "seq", run)
    facts = Artifact.objects.filter(run=run).exclude(kind="script")
    have = set(facts.values_list("action", "sha256", "name", "kind", "size"))
    for fact in sorted(want.artifacts - have):
        yield f"artifact {fact[1]} ({fact[2]}): its reference is missing"
    for fact in sorted(have - want.artifacts):
        yield f"artifact {fact[1]} ({fact[2]}): no event refers to it"


def _cards(approvals: dict[str, Fields]) -> dict[str, Fields]:
    """Cards as their rows hold them: text, whole."""
    result = {}
    for name, fields in approvals.items():
        card = whole({"card": fields["card"]}, None)["card"]
        result[name] = {**fields, "card": canonical.text(card)}
    return result


def _table(
    name: str,
    want: dict[Any, Fields],
    model: type[models.Model],
    key: str,
    run: str,
    *,
    join: str = "run",
    skip: Iterable[str] = (),
) -> Iterator[str]:
    rows = {row[key]: row for row in model._default_manager.filter(**{join: run}).values()}
    for ident, fields in want.items():
        if ident not in rows:
            yield f"{name} {ident}: its row is missing"
            continue
        left_out = set(skip)
        yield from _compare(
            f"{name} {ident}",
            {k: v for k, v in fields.items() if k not in left_out},
            rows[ident],
        )
    for ident in rows.keys() - want.keys():
        yield f"{name} {ident}: no event made this row"


def _compare(what: str, want: Fields, row: Fields) -> Iterator[str]:
    for name, value in want.items():
        found = row.get(name, row.get(f"{name}_id"))
        if isinstance(found, datetime):
            found = clock.stamp(found.astimezone(UTC))
        if found != value:
            yield f"{what}: {name} is {found!r}, the journal says {value!r}"


def rebuild(run: str) -> None:
    """Write every projection of a run anew from its events. Raises `NotFound`.

    A task that was held comes back with a lease that has run out, so that it is taken back.
    """
    want = expected(run)
    _restore_run(run, want)
    with open_run(run) as book:
        Grant.objects.filter(approval__run=run).delete()
        for model in (Approval, Trace, PolicyDecision):
            model._default_manager.filter(run=run).delete()
        Artifact.objects.filter(run=run).exclude(kind="script").delete()
        for ident, fields in want.tasks.items():
            _restore_task(run, ident, dict(fields), book.at)
        for ident, fields in _cards(want.approvals).items():
            _insert(Approval, {"id": ident, "run": run, **fields})
        for ident, fields in want.grants.items():
            _insert(Grant, {"id": ident, **fields})
        for seq, fields in want.traces.items():
            _insert(Trace, {"run": run, "seq": seq, **fields})
        for seq, fields in want.decisions.items():
            at = Event.objects.values_list("at", flat=True).get(run=run, seq=seq)
            _insert(PolicyDecision, {"run": run, "seq": seq, "at": at, **fields})
        for action, digest, name, kind, size in sorted(want.artifacts):
            Artifact.objects.create(
                run_id=run,
                action=action,
                sha256=digest,
                name=name,
                kind=kind,
                size=size,
                created_at=book.at,
            )


def _restore_run(run: str, want: Projections) -> None:
    fields = dict(want.run)
    workspace = Workspace.objects.filter(name=fields.pop("workspace")).first()
    for name in ("created_at", "ended_at"):
        fields[name] = _moment(fields[name])
    Run.objects.update_or_create(pk=run, defaults={**fields, "workspace": workspace})


def _restore_task(run: str, ident: str, fields: Fields, now: datetime) -> None:
    held = fields["state"] in ("running", "cancelling")
    owner = fields.pop("owner")
    values = {
        **fields,
        "objective": Run.objects.values_list("objective", flat=True).get(pk=run),
        "lease_owner": owner if held else "",
        "lease_expires_at": now if held else None,
    }
    known = Task.objects.filter(pk=ident)
    if not known.exists():
        Task.objects.create(id=ident, run_id=run, available_at=now, **values)
        return
    state = values.pop("state")
    if known.values_list("state", flat=True).get() != state:
        known.delete()
        Task.objects.create(id=ident, run_id=run, available_at=now, state=state, **values)
        return
    known.update(**values)


def _insert(model: type[models.Model], fields: Fields) -> None:
    values: Fields = {}
    for name, value in fields.items():
        kind = model._meta.get_field(name)
        if isinstance(kind, models.DateTimeField):
            value = _moment(value)
        values[getattr(kind, "attname", name)] = value
    model._default_manager.create(**values)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))
