"""SQLite with a fair queue for writers.

SQLite's busy handler sleeps with a growing back-off, so a process that commits in a loop
starves the others for seconds. Here every transaction (all are IMMEDIATE) first takes a
blocking `flock` on a side file: the kernel wakes waiters in turn and frees the lock of a
killed process. Statements in autocommit mode are not queued.
"""

from __future__ import annotations

import fcntl
import os
from typing import Any

from django.db.backends.sqlite3 import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's SQLite backend, with the gate around transactions."""

    _gate: int | None = None
    _inside: bool = False

    def _enter(self) -> None:
        if self._inside or self.is_in_memory_db():
            return
        if self._gate is None:
            name = str(self.settings_dict["NAME"])
            self._gate = os.open(f"{name}.gate", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        self._inside = True

    def _leave(self) -> None:
        if self._inside and self._gate is not None:
            self._inside = False
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def _start_transaction_under_autocommit(self) -> None:
        self._enter()
        try:
            super()._start_transaction_under_autocommit()
        except BaseException:
            self._leave()
            raise

    def _commit(self) -> Any:
        try:
            return super()._commit()
        finally:
            if not (self.connection and self.connection.in_transaction):
                self._leave()

    def _rollback(self) -> Any:
        try:
            return super()._rollback()
        finally:
            self._leave()

    def _close(self) -> Any:
        try:
            return super()._close()
        finally:
            self._leave()
            if self._gate is not None:
                os.close(self._gate)
                self._gate = None
