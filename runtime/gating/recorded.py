"""Recorded decisions, decided again: with the facts that were stored, never by looking anew.

What a rule can ask about stands in the journal: the action, what its paths and programs were,
when it was. So an old decision can be repeated under other rules, here or years later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from runtime import blobs
from runtime.core import canonical
from runtime.journal.draft import whole
from runtime.journal.kinds import ActionEdited, ActionProposed, PolicyDecided
from runtime.journal.rows import COLUMNS, EventRow, from_columns
from runtime.models import Event, PolicyDecision, Run, SealedBytes, Task
from runtime.policy import Decision, Facts, GrantFact, Links, Verdict, Which, worst
from runtime.policy.language import Book
from runtime.policy.places import MET
from runtime.policy.verdict import CHANGES_GUARDED, CHANGES_VERIFICATION, COMMITS_GUARDED
from runtime.secrets import open_sealed

from .context import Subject, decide

_PROPOSALS = (ActionProposed.type, ActionEdited.type)
_TYPES = (*_PROPOSALS, PolicyDecided.type)
PAGE = 500
_STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True)
class Recorded:
    """One `policy.decided`. `raw` is the action as it was proposed; where a secret was cut out
    of it and the sealed form is gone, as it was journaled (`redacted`)."""

    run: str
    task: str
    action: str
    kind: str
    seq: int
    raw: Any
    redacted: bool
    given: dict[str, Any]

    @property
    def moment(self) -> datetime:
        """When it was decided."""
        return datetime.strptime(self.given["moment"], _STAMP).replace(tzinfo=UTC)

    def look(self, path: str) -> Facts:
        """What the path was then. One that was not looked at then cannot be told now."""
        for name, kind, resolved, inside, digest, runs in self.given["facts"]:
            if name == path:
                return Facts(kind, resolved, inside, digest, runs)
        return Facts("error", path, False)

    @property
    def links(self) -> Links | None:
        """What patterns became by links then; None where nobody asked that yet."""
        rows = [row for row in self.given["facts"] if row[0].startswith(MET)]
        if not any(row[0] == MET for row in rows):
            return None
        return lambda pattern: tuple(Facts(*row[1:]) for row in rows if row[0] == f"{MET}{pattern}")

    @property
    def which(self) -> Which:
        """The programs' files as they were then."""
        found = {name: file or None for name, file in self.given["programs"]}
        return found.get

    @property
    def changed_inputs(self) -> tuple[str, ...]:
        """What a `finish` would have delivered of the verification's own files."""
        return self._named(CHANGES_VERIFICATION) if self.kind == "finish" else ()

    @property
    def changed_guarded(self) -> tuple[str, ...]:
        """The guarded files that would have been handed over as a command had left them."""
        return self._named(CHANGES_GUARDED)

    @property
    def changed_committed(self) -> tuple[str, ...]:
        """Those that a commit would have taken."""
        return self._named(COMMITS_GUARDED)

    def _named(self, prefix: str) -> tuple[str, ...]:
        """The files of the effects that begin so."""
        effects = map(str, self.given["effects"])
        return tuple(one.removeprefix(prefix) for one in effects if one.startswith(prefix))

    def grants(self) -> tuple[GrantFact, ...]:
        """The remembered answer that decided then, if one did."""
        stages = {name: (outcome, rule) for name, outcome, _, rule in self.given["stages"]}
        if self.given["source"] != "grant":
            return ()
        asked = worst(
            Decision(outcome)
            for name, (outcome, _) in stages.items()
            if outcome and name not in ("grants", "audit")
        )
        return (GrantFact(stages["grants"][1], self.given["key"], asked, "scope", "somebody"),)


def decisions(run: Run) -> Iterator[Recorded]:
    """The gate's own decisions of a run, in order. Those that only repeat one with a person's
    answer are left out. Raises `Unavailable` where stored bytes are missing."""
    proposed: dict[str | None, EventRow] = {}  # of each task the last one
    for row in _rows(run.pk):
        if row.type in _PROPOSALS:
            proposed[row.task] = row
            continue
        proposal = proposed.get(row.task)
        same = proposal is not None and proposal.payload["action"] == row.payload["action"]
        if proposal is not None and same and row.payload["source"] not in ("person", "approval"):
            yield _recorded(proposal, row)


def _rows(run: str) -> Iterator[EventRow]:
    """Proposals and decisions, page by page."""
    after = 0
    while True:
        rows = Event.objects.filter(run=run, type__in=_TYPES, seq__gt=after).order_by("seq")
        page = [from_columns(values) for values in rows.values_list(*COLUMNS)[:PAGE]]
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1].seq


def latest(run: str, action: str) -> Recorded | None:
    """The last decision about one action. Raises `Unavailable`."""
    known = PolicyDecision.objects.filter(run=run, action=action).order_by("seq")
    seqs = list(known.values_list("seq", flat=True))
    if not seqs:
        return None
    events = Event.objects.filter(run=run)
    proposals = events.filter(type=ActionProposed.type, seq__lt=seqs[0]).order_by("-seq")
    proposal = proposals.values_list(*COLUMNS).first()
    decision = events.filter(seq=seqs[-1]).values_list(*COLUMNS).first()
    if proposal is None or decision is None:
        return None
    edits = events.filter(type=ActionEdited.type, seq__gt=seqs[0], seq__lt=seqs[-1])
    edited = [from_columns(row) for row in edits.order_by("-seq").values_list(*COLUMNS)]
    mine = next((row for row in edited if row.payload["action"] == action), None)
    return _recorded(mine or from_columns(proposal), from_columns(decision))


def _recorded(proposed: EventRow, decided: EventRow) -> Recorded:
    given = {"programs": [], "facts": [], **whole(decided.payload, PolicyDecided)}
    given["moment"] = given.get("moment") or decided.at
    action = str(proposed.payload["action"])
    raw, redacted = _raw(action, proposed.payload)
    return Recorded(
        run=decided.run,
        task=str(decided.task),
        action=action,
        kind=str(proposed.payload["kind"]),
        seq=decided.seq,
        raw=raw,
        redacted=redacted,
        given=given,
    )


def _raw(action: str, payload: dict[str, Any]) -> tuple[Any, bool]:
    if payload.get("raw_digest"):
        sealed = SealedBytes.objects.filter(action=action).first()
        if sealed is not None:
            return canonical.decode(open_sealed(bytes(sealed.sealed))), False
    body = payload["body"]
    if isinstance(body, dict) and body.keys() == {"artifact", "size"}:
        body = canonical.decode(blobs.get(body["artifact"]))
    return body, bool(payload.get("raw_digest"))


def again(
    recorded: Recorded, task: Task, book: Book, *, tree: str = "", now: datetime | None = None
) -> Verdict:
    """The decision under a book of rules, `now` or at its own time. `task` brings its run and
    workspace along."""
    workspace = task.run.workspace
    if workspace is None:
        raise AssertionError("a task belongs to a run with a workspace")
    subject = Subject(
        run=task.run.pk,
        task=task.pk,
        role=task.role,
        kind=task.kind,
        mode=task.run.mode,
        workspace=workspace.name,
        root=workspace.root,
        allowed=frozenset(workspace.allowed),
        remotes=workspace.remotes,
        write_paths=tuple(task.write_paths),
        look=recorded.look,
        links=recorded.links,
        which=recorded.which,
        changed_inputs=recorded.changed_inputs,
        changed_guarded=recorded.changed_guarded,
        changed_committed=recorded.changed_committed,
        user=task.run.submitted_by,
    )
    return decide(
        subject,
        recorded.raw,
        tree=tree,
        now=now or recorded.moment,
        live=recorded.grants(),
        book=book,
    )
