"""Whether this machine can confine what runs execute, as the journal has it: told when it changes.

Who tries to run a command is refused by the sandbox itself; here it is only told, once for any
number of commands, and told again when it is mended.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from runtime import sandbox
from runtime.core.ids import SYSTEM_RUN
from runtime.journal.book import ensure_system, open_system
from runtime.journal.draft import whole
from runtime.journal.kind import Payload
from runtime.journal.kinds import SandboxAvailable, SandboxUnavailable
from runtime.journal.rows import COLUMNS, EventRow, from_columns
from runtime.models import Event, Worker
from runtime.policy.verdict import shorten
from runtime.sandbox import Finding

MOST = 200
"""Events that are looked at."""
LONGEST = 1000
"""Characters of a detail or a remedy."""
_KINDS = (SandboxUnavailable, SandboxAvailable)


class Trouble(NamedTuple):
    """A machine that can confine nothing. `since` is a journal stamp."""

    host: str
    since: str
    detail: str
    remedy: str


def look(by: str, *, fresh: bool = False) -> None:
    """See whether this machine can confine, and journal it where that is news.

    Cheap where it could and nothing has changed; `fresh` tries all the same. `by` names the kind
    of process that looks.
    """
    news = _news(sandbox.check_for_runs(fresh=fresh))
    if news is None:
        return
    ensure_system()
    with open_system() as chain:
        if _differs(news):  # else another process was faster
            chain.append(news, actor=by)


def review(by: str) -> None:
    """See whether a machine that could not confine has been mended; costs a look at the journal
    where it could."""
    if _is_trouble(_last(_here())):
        look(by, fresh=True)


def troubles() -> list[Trouble]:
    """The machines of which the journal says that they can confine nothing: this one, and others
    that have workers. One that is gone without a word is forgotten with its workers."""
    rows = list(_rows())
    counted = {_here(), *Worker.objects.values_list("host", flat=True)}
    hosts = dict.fromkeys(row.payload.get("host") for row in rows)
    return [
        _trouble([row for row in rows if row.payload.get("host") == host])
        for host in hosts
        if host in counted and _is_trouble(_last(host, rows))
    ]


def _trouble(rows: list[EventRow]) -> Trouble:
    """Of a host's events, the newest first: what the newest says, since the first of its kind."""
    first = [*takewhile(_is_trouble, rows)][-1]
    said = whole(rows[0].payload, SandboxUnavailable)
    return Trouble(said["host"], first.at, said["detail"], said["remedy"])


def _news(finding: Finding) -> Payload | None:
    """What is to be said of a finding that is not said yet."""
    detail, remedy = shorten(finding.detail, LONGEST), shorten(finding.remedy, LONGEST)
    said: Payload
    if finding.ok:
        said = SandboxAvailable(host=_here(), backend=finding.backend, detail=detail)
    else:
        tried = list(sandbox.tried())
        said = SandboxUnavailable(host=_here(), backends=tried, detail=detail, remedy=remedy)
    return said if _differs(said) else None


def _differs(said: Payload) -> bool:
    last = _last(_here())
    if isinstance(said, SandboxAvailable) or last is None or not _is_trouble(last):
        return _is_trouble(last) != isinstance(said, SandboxUnavailable)
    return any(last.payload.get(name) != getattr(said, name) for name in ("backends", "remedy"))


def _is_trouble(row: EventRow | None) -> bool:
    return row is not None and row.type == SandboxUnavailable.type


def _last(host: str, rows: list[EventRow] | None = None) -> EventRow | None:
    found = _rows() if rows is None else rows
    return next((row for row in found if row.payload.get("host") == host), None)


def _rows() -> Iterator[EventRow]:
    """What was said of every machine, the newest first."""
    types = [kind.type for kind in _KINDS]
    rows = Event.objects.filter(run=SYSTEM_RUN, type__in=types).order_by("-id")
    return map(from_columns, rows.values_list(*COLUMNS)[:MOST])


def _here() -> str:
    return socket.gethostname()[:100]
