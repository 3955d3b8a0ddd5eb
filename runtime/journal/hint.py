"""The hint: «there are new rows». It names a run, holds no data and may be lost.

A writer calls `wake` after its commit. A web process holds one `Listener`. What a lost
hint costs is the time until the hub's next unasked look (one second).

SQLite: a Unix datagram to each socket in `<data>/hints/` (mode 0700). PostgreSQL:
`NOTIFY` on one channel, heard by one connection of the web process.
"""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import socket
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.utils import Error as DatabaseError

CHANNEL = "m31a"
LONGEST_PATH = 103
"""Bytes of a socket's path that fit everywhere: Linux takes 108 with the end, macOS 104."""
LONGEST_NAME = 64
MOST_AT_ONCE = 4096
"""Hints taken in one go, so that a flood of them cannot hold the web process."""

log = logging.getLogger(__name__)

# One unbound socket for all senders; a datagram is sent whole, so threads may share it.
_sender: socket.socket | None = None


class Listener(Protocol):
    """One web process's ear. Readable when a hint is there."""

    def fileno(self) -> int: ...

    def take(self) -> set[str]:
        """The runs named since the last call. Never blocks; `OSError` when the ear is lost."""
        ...

    def close(self) -> None: ...


def folder() -> Path:
    """Where listeners of this data folder bind their sockets."""
    return Path(settings.M31A.DATA_DIR) / "hints"


def wake(run: str) -> None:
    """Tell every web process that `run` has something new. Never raises, never blocks.

    Call it after the commit, in the thread that committed.
    """
    try:
        connection = connections[DEFAULT_DB_ALIAS]
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, run])
        else:
            _send(folder(), run.encode("ascii", "replace")[:LONGEST_NAME])
    except (OSError, DatabaseError) as error:
        log.warning(
            "The hint for run %s was not sent (%s); pages see it a second later.",
            run,
            error,
        )


def _send(place: Path, name: bytes) -> None:
    """One datagram to each socket. A socket that refuses belongs to a dead process: unlink it."""
    global _sender
    try:
        names = os.listdir(place)
    except FileNotFoundError:
        return
    for entry in names:
        if not entry.endswith(".sock"):
            continue
        if _sender is None:
            _sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            _sender.setblocking(False)
            atexit.register(_sender.close)
        path = os.path.join(place, entry)
        try:
            _sender.sendto(name, path)
        except BlockingIOError:
            pass  # its queue is full of hints, so it will look anyway
        except FileNotFoundError:
            pass  # closed between the listing and the sending
        except ConnectionRefusedError:
            Path(path).unlink(missing_ok=True)


class SocketListener:
    """A bound datagram socket `<pid>.<random>.sock`, unlinked on close.

    The random part keeps two containers apart that share a data folder and a pid.
    """

    def __init__(self, place: Path) -> None:
        self.path = place / f"{os.getpid()}.{secrets.token_hex(2)}.sock"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setblocking(False)
        try:
            self._socket.bind(str(self.path))
        except OSError:
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def take(self) -> set[str]:
        """Drain the queue (at most `MOST_AT_ONCE`; the rest keeps the socket readable)."""
        runs = set()
        for _ in range(MOST_AT_ONCE):
            try:
                runs.add(self._socket.recv(LONGEST_NAME).decode("ascii", "replace"))
            except BlockingIOError:
                break
        return runs

    def close(self) -> None:
        self._socket.close()
        self.path.unlink(missing_ok=True)


class NotifyListener:
    """A PostgreSQL connection of its own that does nothing but `LISTEN`."""

    def __init__(self) -> None:
        wrapper: Any = connections.create_connection(DEFAULT_DB_ALIAS)
        wrapper.connect()
        self._raw: Any = wrapper.connection
        self._raw.execute(f"LISTEN {CHANNEL}")
        self._error: type[Exception] = wrapper.Database.Error
        # A wrapper is bound to its thread; the raw connection is used by the loop's thread alone.
        self._wrapper = wrapper
        self._number = int(self._raw.fileno())

    def fileno(self) -> int:
        """The socket's number; known also when the connection is lost."""
        return self._number

    def take(self) -> set[str]:
        """What the server has pushed. `OSError` when the connection is gone."""
        runs = set()
        low = self._raw.pgconn
        try:
            low.consume_input()
        except self._error as error:
            raise ConnectionError(f"PostgreSQL hung up: {error}") from error
        for _ in range(MOST_AT_ONCE):
            notice = low.notifies()
            if notice is None:
                break
            runs.add(notice.extra.decode("ascii", "replace")[:LONGEST_NAME])
        return runs

    def close(self) -> None:
        self._raw.close()


def fits(place: Path) -> bool:
    """Whether a socket can be bound below a folder: its path has a bound."""
    return len(os.fsencode(place)) + len("/4194304.ffff.sock") <= LONGEST_PATH


def listener(place: Path | None = None) -> Listener | None:
    """An ear for hints, or None where there can be none (the hub then polls the database).

    Blocks for the time of one connection on PostgreSQL. Raises `django.db.Error` there
    when the server cannot be reached.
    """
    if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
        return NotifyListener()
    place = place or folder()
    if not fits(place):
        log.warning(
            "The path %s is too long for a socket; pages poll the database instead.",
            place,
        )
        return None
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return SocketListener(place)
    except OSError as error:
        log.warning("No hint socket in %s (%s); pages poll the database instead.", place, error)
        return None
