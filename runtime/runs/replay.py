"""Do the tables say what the journal says? And if not: make them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import models
from django.db.transaction import atomic

from runtime.core import canonical, clock
from runtime.core.errors import M31AError, NotFound, Refused
from runtime.core.ids import SYSTEM_RUN
from runtime.journal import newer, verify
from runtime.journal.book import open_run
from runtime.journal.draft import whole
from runtime.journal.kinds import REGISTRY
from runtime.journal.read import every
from runtime.journal.rows import EventRow
from runtime.models import (
    Approval,
    Artifact,
    Dependency,
    Event,
    Grant,
    NewerKind,
    PolicyDecision,
    Run,
    Task,
    Trace,
    Workspace,
)

from .folding import Fields, Projections, Unfoldable, fold

NEEDED: Mapping[str, Collection[str]] = {
    "run.submitted": {"objective", "artifacts"},
    "approval.requested": {"card"},
    "approval.approved": {"comment"},
    "approval.denied": {"comment"},
    "action.completed": {"artifacts"},
    "finish.refused": {"artifacts"},
    "job.ended": {"artifacts"},
}
"""Fields that projections hold, and that may lie in artifacts."""
TIMES = {"at": "created_at"}


def runs() -> list[str]:
    """Every run that has a row or an event, oldest first; the system's chain left out."""
    found = {*Run.objects.values_list("pk", flat=True)}
    found.update(Event.objects.values_list("run", flat=True).distinct().order_by())
    return sorted(found - {SYSTEM_RUN})


def chains() -> list[str]:
    """Every run, and before them the system's chain where it has begun."""
    begun = Event.objects.filter(run=SYSTEM_RUN).exists()
    return [*([SYSTEM_RUN] if begun else []), *runs()]


def expected(run: str) -> Projections:
    """What the events of a run say. Raises `NotFound` where there are none, `Unfoldable`, and
    `Unavailable` where moved fields are missing."""
    events = list(every(run))
    if not events:
        raise NotFound(f"There is no run {run}.", remedy="`m31a status` lists the runs.")
    return fold((event, _whole(event)) for event in events)


def _whole(event: EventRow) -> EventRow:
    if event.type not in NEEDED:
        return event
    payload = whole(event.payload, REGISTRY[event.type], NEEDED[event.type])
    return event._replace(payload=payload)


def check(run: str) -> str:
    """The first difference between the journal and the tables, or nothing. Only reads.

    Where a newer version wrote to the run, a difference may be what this version cannot follow:
    then that is said. Raises `NotFound` where there is neither.
    """
    try:
        want = expected(run)
    except NotFound:
        if run == SYSTEM_RUN or not Run.objects.filter(pk=run).exists():
            raise
        return f"run {run}: no event made this row"
    except (Unfoldable, M31AError) as error:
        return _beyond_us(run) or f"run {run}: {error}"
    found = next(iter(_differences(run, want)), "")
    return found and (_beyond_us(run) or found)


def _strange(run: str) -> list[newer.Kind]:
    """What this version does not know of the record itself, whatever the tables say. Nothing is
    folded from the system's chain."""
    return [] if run == SYSTEM_RUN else [kind for kind in map(newer.strange, every(run)) if kind]


def _beyond_us(run: str) -> str:
    found = _strange(run)
    return f"run {run}: {newer.Newer(run, found)}" if found else ""


def _differences(run: str, want: Projections) -> Iterator[str]:
    row: Fields | None = Run.objects.filter(pk=run).values().first()  # type: ignore[assignment]
    if row is None:
        yield f"run {run}: its row is missing"
        return
    row["workspace"] = (
        Workspace.objects.filter(pk=row["workspace_id"]).values_list("name", flat=True).first()
    )
    yield from _compare(f"run {run}", want.run, row)
    yield from _table("task", want.tasks, Task, "id", run)
    yield from _table("approval", _cards(want.approvals), Approval, "id", run)
    yield from _table("grant", want.grants, Grant, "id", run, join="approval__run")
    yield from _table("trace", want.traces, Trace, "seq", run)
    yield from _table("policy decision", want.decisions, PolicyDecision, "seq", run)
    yield from _artifacts(want, run)
    yield from _newer(want, run)


def _newer(want: Projections, run: str) -> Iterator[str]:
    rows = set(NewerKind.objects.filter(run=run).values_list("type", "v"))
    for kind in newer.rows(run, want.kinds):
        if (kind.type, kind.v) not in rows:
            yield f"kind {kind.type} version {kind.v}: nothing says that the run holds it"


def _artifacts(want: Projections, run: str) -> Iterator[str]:
    """References have no id in the journal; when they were stored is no part of it."""
    rows: dict[Any, Any] = {
        (row["action"], row["sha256"], row["name"]): row
        for row in Artifact.objects.filter(run=run).values()
    }
    for key, fields in want.artifacts.items():
        what = f"artifact {key[1]} ({key[2]})"
        if key not in rows:
            yield f"{what}: its reference is missing"
            continue
        yield from _compare(what, {k: v for k, v in fields.items() if k != "at"}, rows[key])
    for key in rows.keys() - want.artifacts.keys():
        yield f"artifact {key[1]} ({key[2]}): no event refers to it"


def _cards(approvals: dict[str, Fields]) -> dict[str, Fields]:
    """Cards as their rows hold them: as text."""
    return {
        name: {**fields, "card": canonical.text(fields["card"])}
        for name, fields in approvals.items()
    }


def _table(
    name: str,
    want: dict[Any, Fields],
    model: type[models.Model],
    key: str,
    run: str,
    *,
    join: str = "run",
) -> Iterator[str]:
    rows = {row[key]: row for row in model._default_manager.filter(**{join: run}).values()}
    for ident, fields in want.items():
        if ident not in rows:
            yield f"{name} {ident}: its row is missing"
            continue
        yield from _compare(f"{name} {ident}", fields, rows[ident])
    for ident in rows.keys() - want.keys():
        yield f"{name} {ident}: no event made this row"


def _compare(what: str, want: Fields, row: Fields) -> Iterator[str]:
    for name, value in want.items():
        found = row[name] if name in row else row[f"{name}_id"]
        if isinstance(found, datetime):
            found = clock.stamp(found.astimezone(UTC))
        if found != value:
            yield f"{what}: {name} is {found!r}, the journal says {value!r}"


def rebuild(run: str) -> None:
    """Write every projection of a run anew from its events.

    A task that was held comes back with a lease that has run out, so that it is taken back.
    Raises `NotFound`, and `Refused` where the chain is broken, which must not look whole after,
    or where a newer version wrote what this one would leave out.
    """
    if strange := _strange(run):
        raise newer.Newer(run, strange)
    known = Run.objects.filter(pk=run).exists()
    found = verify.verify(run, bytes_too=False) if known else verify.verify_events(run)
    if not found["ok"]:
        raise Refused(
            f"The chain of run {run} is broken: {found['reason']}.",
            remedy="Restore the journal from a backup; a broken one is not built upon.",
        )
    if run == SYSTEM_RUN:
        if not known:
            _create_system()
        return  # no projection is made from it but its own row
    if not known:
        _create_run(run)
    with open_run(run) as book:
        want = _expected_or_refused(run)
        Run.objects.filter(pk=run).update(**_run_fields(want))
        edges = list(Dependency.objects.filter(child__run=run))
        Grant.objects.filter(approval__run=run).delete()
        for model in (Approval, Trace, PolicyDecision, Artifact):
            model._default_manager.filter(run=run).delete()
        for ident, fields in want.tasks.items():
            _restore_task(run, ident, dict(fields), book.at)
        Dependency.objects.bulk_create(edges, ignore_conflicts=True)
        for ident, fields in _cards(want.approvals).items():
            _insert(Approval, {"id": ident, "run": run, **fields})
        for ident, fields in want.grants.items():
            _insert(Grant, {"id": ident, **fields})
        for seq, fields in want.traces.items():
            _insert(Trace, {"run": run, "seq": seq, **fields})
        for seq, fields in want.decisions.items():
            _insert(PolicyDecision, {"run": run, "seq": seq, **fields})
        NewerKind.objects.bulk_create(newer.rows(run, want.kinds), ignore_conflicts=True)
        for (action, digest, name), fields in want.artifacts.items():
            key = {"run": run, "action": action, "sha256": digest, "name": name}
            _insert(Artifact, {**key, **{TIMES.get(k, k): v for k, v in fields.items()}})


def _expected_or_refused(run: str) -> Projections:
    try:
        return expected(run)
    except Unfoldable as error:
        raise Refused(f"The tables of run {run} cannot be made: {error}.") from error


def _run_fields(want: Projections) -> Fields:
    fields = dict(want.run)
    workspace = Workspace.objects.filter(name=fields.pop("workspace")).first()
    for name in ("created_at", "ended_at"):
        fields[name] = _moment(fields[name])
    return {**fields, "workspace": workspace}


def _create_run(run: str) -> None:
    """The row of a run of which only the events are left. Nobody can write to it until then."""
    with atomic(durable=True):
        Run.objects.create(pk=run, **_run_fields(_expected_or_refused(run)))


def _create_system() -> None:
    """The row of the reserved run, at the end of its chain."""
    want = expected(SYSTEM_RUN).run
    first = next(iter(every(SYSTEM_RUN)))
    with atomic(durable=True):
        Run.objects.create(
            pk=SYSTEM_RUN,
            event_seq=want["event_seq"],
            head_hash=want["head_hash"],
            created_at=datetime.fromisoformat(first.at.replace("Z", "+00:00")),
            state="planning",
        )


def _restore_task(run: str, ident: str, fields: Fields, now: datetime) -> None:
    held = fields["state"] in ("running", "cancelling")
    values = {**fields, "lease_expires_at": now if held else None}
    known = Task.objects.filter(pk=ident).first()
    if known is not None and known.state == values["state"]:
        Task.objects.filter(pk=ident).update(**values)
        return
    if known is not None:
        # No trigger lets a row move as a correction would; its place is taken by a new one.
        known.delete()
    at = now if known is None else known.available_at
    Task.objects.create(id=ident, run_id=run, available_at=at, **values)


def _insert(model: type[models.Model], fields: Fields) -> None:
    values: Fields = {}
    for name, value in fields.items():
        kind = model._meta.get_field(name)
        if isinstance(kind, models.DateTimeField):
            value = _moment(value)
        values[getattr(kind, "attname", name)] = value
    model._default_manager.create(**values)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else clock.moment(text)
