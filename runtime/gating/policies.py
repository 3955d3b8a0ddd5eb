"""The rules in force. Loaded all or nothing, looked for anew before each decision, journaled.

A process that finds broken files when it starts has no policy and refuses. One that finds them
later keeps the rules that it has, says so, and tries again when the files change.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path

from runtime.core.digests import sha256
from runtime.core.ids import SYSTEM_RUN
from runtime.journal.book import ensure_system, open_system
from runtime.journal.draft import whole
from runtime.journal.kinds import PolicyLoaded
from runtime.journal.rows import COLUMNS, EventRow, from_columns
from runtime.models import Event
from runtime.policy.language import Book, Document, Fault, PolicyFault

from . import files

log = logging.getLogger(__name__)
EMPTY = Book()


@dataclass
class _Held:
    """What this process knows: the last book that could be used, and the last look at the files."""

    root: Path | None = None
    signature: files.Signature | None = None
    book: Book | None = None
    fault: PolicyFault | None = None
    journaled: str = ""


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

    `by` names the kind of process that noticed. Raises `PolicyFault` where this process never
    had rules that could be used.
    """
    with _lock:
        _look()
        if _held.book is None:
            raise _held.fault or PolicyFault([])
        if _held.journaled != _held.book.hash:
            _journal(_held.book, by)
            _held.journaled = _held.book.hash
        return _held.book


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
    rows = Event.objects.filter(run=SYSTEM_RUN, type=PolicyLoaded.type).order_by("-id")
    row = rows.values_list(*COLUMNS).first()
    return None if row is None else from_columns(row)


def forget() -> None:
    """Know nothing, as a process that has just begun."""
    global _held
    with _lock:
        _held = _Held()


def _look() -> None:
    """Load the files if they changed since the last look."""
    root = files.folder()
    if root != _held.root:
        _held.root, _held.signature, _held.book, _held.journaled = root, None, None, ""
    try:
        seen = files.signature(root)
        if seen == _held.signature:
            return
        found = files.documents(root, [name for name, *_ in seen])
        if files.signature(root) != seen and _held.book is not None:
            return  # still being written: the next look takes it
        book = Book.of([*found, *_gone([one.name for one in found])])
    except PolicyFault as error:
        _refuse(seen, error)
    except OSError as error:
        _refuse(None, PolicyFault([Fault(str(root), "", "", f"{error.strerror}")]))
    else:
        _held.signature, _held.book, _held.fault = seen, book, None


def _refuse(seen: files.Signature | None, error: PolicyFault) -> None:
    _held.signature, _held.fault = seen, error
    kept = "The rules from before stay in force. " if _held.book is not None else ""
    log.error("%s%s", kept, error)


def _gone(names: list[str]) -> list[Document]:
    """Files that are in force and have vanished: rules are taken back by an empty file."""
    row = last_loaded()
    if row is None:
        return []
    known = whole(row.payload, PolicyLoaded, {"files"})["files"]
    missing = sorted({name for name, _ in known} - set(names))
    message = "its rules were in force, and it is gone: put it back, or an empty file in its place"
    return [files.broken(name, message) for name in missing]


def _journal(book: Book, by: str) -> None:
    """Write `policy.loaded`, unless the chain's last one already says the same."""
    if _says(book):
        return
    ensure_system()
    ruled = [one for one in book.documents if one.layer.rules]
    with open_system() as chain:
        if _says(book):
            return  # another process was faster
        chain.append(
            PolicyLoaded(
                hash=book.hash,
                by=by,
                rules=book.rules,
                files=[[one.name, sha256(one.text.encode())] for one in ruled],
                texts=[[one.name, one.text] for one in ruled],
            ),
            actor=by,
        )


def _says(book: Book) -> bool:
    row = last_loaded()
    return book.empty if row is None else row.payload["hash"] == book.hash
