"""The rules in force. Loaded all or nothing, looked for anew before each decision, journaled.

What the files say counts once it is journaled; where they are broken, what was journaled last. A
process that finds broken files when it starts has no policy and refuses. One that finds them
later decides by the rules of the last `policy.loaded`, whoever wrote it, says so, and tries again
when the files change. Nobody ever decides by older rules than that event's, or journals rules
that are not those of the files at that moment.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path

from runtime.journal.rows import EventRow
from runtime.policy.language import Book, Document, Fault, PolicyFault

from . import files, loaded

log = logging.getLogger(__name__)
EMPTY = Book()
LOOKS = 5
"""How often the files are looked at, for one decision, while others write them."""


@dataclass
class _Held:
    """What this process knows since its last look at the files and at the journal."""

    root: Path | None = None
    signature: files.Signature | None = None
    """Of the files that were read; None: they are read again."""
    seq: int = 0
    """The number of the `policy.loaded` that was the last one."""
    book: Book | None = None
    """The last rules that could be read from the files."""
    fault: PolicyFault | None = None
    """Why the files cannot be used, if so."""
    agreed: bool = False
    """Whether the journal says that `book` is in force."""
    recorded: Book | None = None
    """The rules of the event `seq`, once they were needed."""


_held = _Held()
_lock = threading.Lock()


def require() -> None:
    """Refuse to start where the files cannot be used. Raises `PolicyFault`."""
    current()


def current() -> Book:
    """The rules of the files as they are now. Raises `PolicyFault`. Journals nothing."""
    with _lock:
        _look()
        if _held.fault is not None:
            raise _held.fault
        return _held.book or EMPTY


def in_force(by: str) -> Book:
    """The rules by which actions are decided; a change is journaled before it counts.

    `by` names the kind of process that noticed. Raises `PolicyFault` where the files are broken,
    and this process never had rules that could be used, or cannot read the journal's.
    """
    with _lock:
        for _ in range(LOOKS):
            _look()
            if _held.fault is not None or _held.book is None:
                return _last_recorded()
            if _held.agreed or _journal(_held.book, by):
                return _held.book
        _refuse(None, _unreadable("they change faster than they can be journaled"))
        return _last_recorded()


def fault() -> PolicyFault | None:
    """Why the files on disk are not in force, if so."""
    with _lock:
        _look()
        return _held.fault


def folder() -> Path:
    """Where the policy files are."""
    return files.folder()


def all_documents() -> list[Document]:
    """Every file with its faults, for people who mend them."""
    root = files.folder()
    return files.documents(root, [name for name, *_ in files.signature(root)])


def last_loaded() -> EventRow | None:
    """The event that says which rules are in force, or None where there never were any."""
    return loaded.last()


def forget() -> None:
    """Know nothing, as a process that has just begun."""
    global _held
    with _lock:
        _held = _Held()


def _look() -> None:
    """Load the files if they, or what the journal says, changed since the last look."""
    global _held
    root = files.folder()
    if root != _held.root:
        _held = _Held(root)
    seq = loaded.last_seq()
    seen = None
    try:
        if (files.signature(root), seq) == (_held.signature, _held.seq):
            return
        row = loaded.last()
        _held.seq, _held.recorded = row.seq if row else 0, None
        known = loaded.names(row) if row else set()
        seen, found = files.together(root)
        book = Book.of([*found, *_gone(known - {one.name for one in found})])
    except PolicyFault as error:
        _refuse(seen, error)
    except OSError as error:
        _held.seq, _held.recorded = seq, None
        _refuse(None, _unreadable(f"{error.strerror}"))
    else:
        _held.signature, _held.book, _held.fault = seen, book, None
        _held.agreed = book.empty if row is None else row.payload["hash"] == book.hash


def _refuse(seen: files.Signature | None, error: PolicyFault) -> None:
    _held.signature, _held.fault, _held.agreed = seen, error, False
    kept = "The rules that were journaled last stay in force. " if _held.book is not None else ""
    log.error("%s%s", kept, error)


def _unreadable(message: str) -> PolicyFault:
    return PolicyFault([Fault(str(_held.root), "", "", message)])


def _gone(names: set[str]) -> list[Document]:
    """Files that are in force and have vanished: rules are taken back by an empty file."""
    message = "its rules were in force, and it is gone: put it back, or an empty file in its place"
    return [files.broken(name, message) for name in sorted(names)]


def _last_recorded() -> Book:
    """The rules that the journal says are in force, for a process that runs on broken files."""
    broken = _held.fault or PolicyFault([])
    if _held.book is None:
        raise broken
    if _held.recorded is None:
        _held.recorded = _of(loaded.last(), _held.book, broken)
    return _held.recorded


def _of(row: EventRow | None, read: Book, broken: PolicyFault) -> Book:
    """The rules of an event: those `read` from the files before they broke, if it means these."""
    if row is None and not read.empty:
        raise broken  # files that broke before anything was decided by them
    if row is None:
        return EMPTY
    if row.payload["hash"] == read.hash:
        return read
    try:
        return loaded.book(row)
    except PolicyFault as error:
        raise PolicyFault([*broken.faults, *error.faults]) from error


def _journal(book: Book, by: str) -> bool:
    """Write `policy.loaded`. Not where the files, or what the journal says, are not any more as
    they were looked at: what would be written then may be older than what is there."""
    seq = loaded.append(book, by, _as_seen)
    if seq:
        _held.seq, _held.recorded, _held.agreed = seq, None, True
    return bool(seq)


def _as_seen() -> bool:
    try:
        seen = files.signature(files.folder())
    except OSError:
        return False  # the next look says why
    return (seen, loaded.last_seq()) == (_held.signature, _held.seq)
