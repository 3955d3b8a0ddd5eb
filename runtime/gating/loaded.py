"""The rules as the journal has them: the last `policy.loaded` says which are in force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.core.digests import sha256
from runtime.core.errors import Unavailable
from runtime.core.ids import SYSTEM_RUN
from runtime.journal.book import ensure_system, open_system
from runtime.journal.draft import whole
from runtime.journal.kinds import PolicyLoaded
from runtime.journal.read import newest
from runtime.journal.rows import COLUMNS, EventRow, from_columns
from runtime.models import Event
from runtime.policy.language import Book, Document, Fault, PolicyFault, place_of, read

from . import files


def last() -> EventRow | None:
    """The event that says which rules are in force, or None where there never were any."""
    rows = Event.objects.filter(run=SYSTEM_RUN, type=PolicyLoaded.type).order_by("-id")
    row = rows.values_list(*COLUMNS).first()
    return None if row is None else from_columns(row)


def last_seq() -> int:
    """The number of that event, 0 where there is none."""
    return newest(SYSTEM_RUN, PolicyLoaded.type)


def names(row: EventRow) -> set[str]:
    """The files that hold rules in force. Raises `PolicyFault`."""
    return {name for name, _ in _field(row, "files")}


def book(row: EventRow) -> Book:
    """The rules that an event put in force, read from its texts.

    Raises `PolicyFault` where these cannot be had, or are not the rules that its hash names.
    """
    found = Book.of(_document(name, text) for name, text in _field(row, "texts"))
    if found.hash != row.payload["hash"]:
        message = f"they make the hash {found.hash[:12]}, not {row.payload['hash'][:12]}"
        raise PolicyFault([Fault(_place(row), "", "texts", message)])
    return found


def append(book: Book, by: str, still: Callable[[], bool]) -> int:
    """Write that a book is in force; the event's number. 0 where `still`, asked while nobody
    else can write, says that it should not be."""
    ensure_system()
    ruled = [one for one in book.documents if one.layer.rules]
    with open_system() as chain:
        if not still():
            return 0
        return chain.append(
            PolicyLoaded(
                hash=book.hash,
                by=by,
                rules=book.rules,
                files=[[one.name, sha256(one.text.encode())] for one in ruled],
                texts=[[one.name, one.text] for one in ruled],
            ),
            actor=by,
        )


def _field(row: EventRow, name: str) -> Any:
    """A field of the event, also where it was moved out."""
    try:
        return whole(row.payload, PolicyLoaded, {name})[name]
    except (Unavailable, OSError) as error:
        raise PolicyFault([Fault(_place(row), "", name, str(error).rstrip("."))]) from error


def _document(name: str, text: str) -> Document:
    try:
        return read(name, text, *place_of(name))
    except ValueError as error:  # a layer that there was when it was written
        return files.broken(name, str(error))


def _place(row: EventRow) -> str:
    return f"event {row.seq} of the system's journal"
