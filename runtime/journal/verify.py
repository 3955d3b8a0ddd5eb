"""Is the record whole? Checks a chain in the database, or in an exported file.

Needs no triggers, and reports where they are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import connection

from runtime import blobs
from runtime.core import canonical
from runtime.core.digests import first_head, link
from runtime.core.errors import BadInput, NotFound, Unavailable
from runtime.models import Artifact, Event, Run, Tombstone

from . import anchors, guards, read
from .rows import COLUMNS

PAGE = 500
_FIELDS = frozenset(COLUMNS)
_LINKS = ("prev_hash", "hash")


class _Chain:
    """Walks one chain and keeps the first thing that is wrong."""

    def __init__(self, run: str) -> None:
        self.run, self.seq, self.head = run, 0, first_head(run) if run.isascii() else ""
        self.anchored = dict(anchors.known(run))
        self.first_bad: int | None = None
        self.reason = ""

    def fault(self, seq: int, reason: str) -> None:
        if self.first_bad is None:
            self.first_bad, self.reason = seq, reason

    def take(self, columns: tuple[Any, ...]) -> None:
        event = dict(zip(COLUMNS, columns, strict=True))
        seq, payload, prev, digest = (event[name] for name in ("seq", "payload", *_LINKS))
        expected = self.seq + 1
        if type(seq) is not int:
            return self.fault(expected, f"event {expected} has no number")
        if seq != expected:
            what = "is missing" if seq > expected else "stands twice or out of order"
            return self.fault(expected, f"event {expected} {what}")
        try:
            event["payload"] = canonical.decode(payload)
            written = canonical.text(event["payload"])
            data = canonical.encode({k: v for k, v in event.items() if k not in _LINKS})
        except ValueError as error:
            return self.fault(seq, f"event {seq} cannot be read: {error}")
        if written != payload or type(event["payload"]) is not dict:
            return self.fault(seq, f"the payload of event {seq} is not in canonical form")
        if event["run"] != self.run or prev != self.head:
            return self.fault(seq, f"event {seq} does not follow the event before it")
        if link(self.head, data) != digest:
            return self.fault(seq, f"event {seq} was changed: its hash does not fit its content")
        if self.anchored.get(seq, digest) != digest:
            return self.fault(seq, f"event {seq} is not the one that a signed anchor vouches for")
        self.seq, self.head = seq, digest

    def end(self) -> None:
        """No more events come: none may be missing that an anchor vouches for."""
        last = max(self.anchored, default=0)
        if self.seq < last:
            missing = f"event {self.seq + 1} is missing"
            self.fault(self.seq + 1, f"{missing}: a signed anchor vouches for {last} events")

    def result(self) -> dict[str, Any]:
        return {
            "ok": self.first_bad is None,
            "run": self.run,
            "first_bad": self.first_bad,
            "reason": self.reason,
        }


def verify(run: str, *, bytes_too: bool = True) -> dict[str, Any]:
    """Check a run's chain against its head, last event included; `bytes_too`: and every stored
    artifact of the run. Raises `NotFound`."""
    stored = Run.objects.filter(pk=run).values_list("event_seq", "head_hash").first()
    buried = _buried(run)
    chain = _walk(run)
    if stored is None and not buried and chain.seq == 0 and chain.first_bad is None:
        raise NotFound(f"There is no run {run}.", remedy="`m31a status` lists the runs.")
    if stored is not None:
        _check_head(chain, *stored)
    elif not buried:
        chain.fault(
            chain.seq + 1,
            "the run's row is missing, so nothing tells whether this is the end; "
            "`m31a replay RUN --rebuild` makes it anew",
        )
    result = chain.result()
    if bytes_too and result["ok"] and (damage := _damaged(run)):
        result |= {"ok": False, "reason": damage}
    if absent := guards.missing(connection):
        note = f"triggers are missing or changed: {', '.join(absent)}; `manage.py migrate` puts them back"
        result["reason"] = f"{result['reason']}; {note}" if result["reason"] else note
    return result


def _damaged(run: str) -> str:
    """The first stored artifact of the run whose bytes are not what its name says."""
    for digest in Artifact.objects.filter(run=run).values_list("sha256", flat=True).distinct():
        try:
            blobs.get(digest)
        except Unavailable as error:
            return str(error)
    return ""


def verify_events(run: str) -> dict[str, Any]:
    """Check the events of a run alone, where there is no head to compare them with."""
    return _walk(run).result()


def _walk(run: str) -> _Chain:
    chain, after = _Chain(run), -1
    while chain.first_bad is None:
        rows = Event.objects.filter(run=run, seq__gt=after).order_by("seq", "id")
        page = list(rows.values_list(*COLUMNS)[:PAGE])
        if not page:
            break
        for row in page:
            chain.take(row)
        after = chain.seq
    if chain.seq or not _buried(run):
        chain.end()
    return chain


def _buried(run: str) -> bool:
    return Tombstone.objects.filter(pk=run).exists()


def _check_head(chain: _Chain, seq: int, head: str) -> None:
    if chain.first_bad is not None:
        return
    if chain.seq < seq:
        chain.fault(chain.seq + 1, f"event {chain.seq + 1} is missing: the run's head is {seq}")
    elif chain.seq > seq:
        chain.fault(seq + 1, f"event {seq + 1} stands after the run's head {seq}")
    elif chain.head != head:
        chain.fault(seq, f"event {seq} is not the one that the run's head names")


def verify_lines(lines: Iterable[str]) -> dict[str, Any]:
    """Check an exported chain (NDJSON). Its end is compared with all that this installation knows
    of the run: anchors, and its row or tombstone; `reason` says where it knows no end.

    Raises `BadInput` naming a line that is no event.
    """
    chain: _Chain | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        event = _parse(number, line)
        chain = chain or _Chain(event["run"])
        chain.take(tuple(event[name] for name in COLUMNS))
    if chain is None:
        raise BadInput("The file holds no event.", remedy="Make it with `m31a audit export RUN`.")
    chain.end()
    if (known := known_head(chain.run)) is not None:
        _check_head(chain, *known)
    result = chain.result()
    if known is None and result["ok"]:
        result["reason"] = (
            f"nothing here tells whether event {chain.seq} is the last, because this data folder "
            f"does not know the run; compare {ending(chain.seq, chain.head)}, with what "
            "`m31a audit verify RUN` says where the run is"
        )
    return result


def known_head(run: str) -> tuple[int, str] | None:
    """Number and hash of a run's last event, also where the run was buried."""
    kept = Run.objects.filter(pk=run).values_list("event_seq", "head_hash")
    buried = Tombstone.objects.filter(pk=run).values_list("last_seq", "head_hash")
    return kept.first() or buried.first()


def ending(seq: int, head: str) -> str:
    """Where a chain ends, in words that can be compared with those about an export."""
    return f"{seq} events, head {head}"


def _parse(number: int, line: str) -> dict[str, Any]:
    try:
        event = canonical.decode(line)
    except ValueError as error:
        raise BadInput(f"Line {number} is no JSON: {error}.") from None
    if not isinstance(event, dict) or event.keys() != _FIELDS or type(event["run"]) is not str:
        raise BadInput(f"Line {number} is no event: its fields must be {', '.join(COLUMNS)}.")
    try:
        return {**event, "payload": canonical.text(event["payload"])}
    except ValueError as error:
        raise BadInput(f"Line {number} is no event: its payload: {error}.") from None


def export(run: str) -> Iterator[str]:
    """A run's events as NDJSON, each line with the fields of the journal."""
    read.head(run)
    for row in read.every(run):
        yield canonical.text(row.document()) + "\n"
