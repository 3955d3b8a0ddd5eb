"""Triggers: the journal is append-only, and a task only moves as the table of moves says.

SQLite drops triggers whenever a migration remakes a table, so one step after every migration
installs them, and a system check refuses to start where one is missing.
"""

from __future__ import annotations

from typing import Any

from runtime.models import Event, Task, Tombstone
from runtime.workflow.states import pairs

EVENTS = Event._meta.db_table
TASKS = Task._meta.db_table
TOMBSTONES = Tombstone._meta.db_table
_MOVES = " OR ".join(f"(OLD.state = '{a}' AND NEW.state = '{b}')" for a, b in pairs())
_ILLEGAL = f"OLD.state <> NEW.state AND NOT ({_MOVES})"
_BURIED = f"EXISTS (SELECT 1 FROM {TOMBSTONES} t WHERE t.run = OLD.run)"


def names(vendor: str = "sqlite") -> list[str]:
    """Every trigger that must be there, on one kind of database."""
    return [*(_sqlite() if vendor == "sqlite" else _postgres())]


def _sqlite() -> dict[str, str]:
    def refuse(message: str) -> str:
        return f"BEGIN SELECT RAISE(ABORT, '{message}'); END"

    # INSERT OR REPLACE deletes what is in its way, and no trigger for DELETE is asked.
    same_event = (
        f"EXISTS (SELECT 1 FROM {EVENTS} WHERE id = NEW.id) OR "
        f"EXISTS (SELECT 1 FROM {EVENTS} WHERE run = NEW.run AND seq = NEW.seq)"
    )
    same_tombstone = f"EXISTS (SELECT 1 FROM {TOMBSTONES} WHERE run = NEW.run)"
    return {
        "m31a_event_insert": f"BEFORE INSERT ON {EVENTS} WHEN {same_event} "
        f"{refuse('the journal is append-only')}",
        "m31a_tombstone_insert": f"BEFORE INSERT ON {TOMBSTONES} WHEN {same_tombstone} "
        f"{refuse('tombstones are append-only')}",
        "m31a_event_update": f"BEFORE UPDATE ON {EVENTS} {refuse('the journal is append-only')}",
        "m31a_event_delete": f"BEFORE DELETE ON {EVENTS} WHEN NOT {_BURIED} "
        f"{refuse('the journal is append-only')}",
        "m31a_tombstone_update": f"BEFORE UPDATE ON {TOMBSTONES} "
        f"{refuse('tombstones are append-only')}",
        "m31a_tombstone_delete": f"BEFORE DELETE ON {TOMBSTONES} "
        f"{refuse('tombstones are append-only')}",
        "m31a_task_move": f"BEFORE UPDATE OF state ON {TASKS} WHEN {_ILLEGAL} "
        f"{refuse('illegal move of a task')}",
    }


def _postgres() -> dict[str, list[str]]:
    def function(name: str, condition: str, message: str, last: str) -> str:
        return (
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF {condition} THEN RAISE EXCEPTION '{message}'; END IF; RETURN {last}; END $$"
        )

    def trigger(name: str, when: str, call: str, per: str = "ROW") -> list[str]:
        table = when.rsplit(" ", 1)[1]
        return [
            f"DROP TRIGGER IF EXISTS {name} ON {table}",
            f"CREATE TRIGGER {name} {when} FOR EACH {per} EXECUTE FUNCTION {call}()",
        ]

    closed = function("m31a_append_only", "TRUE", "this table is append-only", "NULL")
    buried = function("m31a_buried_only", f"NOT {_BURIED}", "the journal is append-only", "OLD")
    moves = function("m31a_moves", _ILLEGAL, "illegal move of a task", "NEW")
    return {
        "m31a_event_update": [
            closed,
            *trigger("m31a_event_update", f"BEFORE UPDATE ON {EVENTS}", "m31a_append_only"),
        ],
        "m31a_event_truncate": trigger(
            "m31a_event_truncate", f"BEFORE TRUNCATE ON {EVENTS}", "m31a_append_only", "STATEMENT"
        ),
        "m31a_event_delete": [
            buried,
            *trigger("m31a_event_delete", f"BEFORE DELETE ON {EVENTS}", "m31a_buried_only"),
        ],
        "m31a_tombstone_update": trigger(
            "m31a_tombstone_update", f"BEFORE UPDATE ON {TOMBSTONES}", "m31a_append_only"
        ),
        "m31a_tombstone_delete": trigger(
            "m31a_tombstone_delete", f"BEFORE DELETE ON {TOMBSTONES}", "m31a_append_only"
        ),
        "m31a_tombstone_truncate": trigger(
            "m31a_tombstone_truncate",
            f"BEFORE TRUNCATE ON {TOMBSTONES}",
            "m31a_append_only",
            "STATEMENT",
        ),
        "m31a_task_move": [
            moves,
            *trigger("m31a_task_move", f"BEFORE UPDATE OF state ON {TASKS}", "m31a_moves"),
        ],
    }


def install(connection: Any) -> None:
    """Put every trigger in place, anew."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for name, rest in _sqlite().items():
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
                cursor.execute(f"CREATE TRIGGER {name} {rest}")
        else:
            for statements in _postgres().values():
                for statement in statements:
                    cursor.execute(statement)


def missing(connection: Any) -> list[str]:
    """Names of triggers that are not in the database."""
    table = "sqlite_master WHERE type = 'trigger'"
    query = f"SELECT name FROM {table}"
    if connection.vendor != "sqlite":
        query = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'"
    with connection.cursor() as cursor:
        cursor.execute(query)
        present = {row[0] for row in cursor.fetchall()}
    return [name for name in names(connection.vendor) if name not in present]


def use_wal(connection: Any) -> None:
    """Switch an SQLite file to write-ahead logging; the file remembers it."""
    if connection.vendor == "sqlite" and not connection.is_in_memory_db():
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode=WAL")
