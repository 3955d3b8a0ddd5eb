"""Triggers: the journal is append-only, a task only moves as the table of moves says, and only a
member of security approves an ESCALATE.

SQLite drops triggers whenever a migration remakes a table, so one step after every migration
installs them, and a system check refuses to start where one is missing or was changed.
"""

from __future__ import annotations

import itertools
from typing import Any

from runtime.models import Event, Task, Tombstone
from runtime.workflow.states import pairs

from . import four_eyes
from .four_eyes import APPROVALS, GRANTS

EVENTS = Event._meta.db_table
TASKS = Task._meta.db_table
TOMBSTONES = Tombstone._meta.db_table
_MOVES = " OR ".join(f"(OLD.state = '{a}' AND NEW.state = '{b}')" for a, b in pairs())
_ILLEGAL = f"OLD.state <> NEW.state AND NOT ({_MOVES})"
_BURIED = f"EXISTS (SELECT 1 FROM {TOMBSTONES} t WHERE t.run = OLD.run)"


def names(vendor: str = "sqlite") -> list[str]:
    """Every trigger that must be there, on one kind of database."""
    return [*(_sqlite() if vendor == "sqlite" else _postgres())]


def _yes(vendor: str) -> dict[str, tuple[str, str]]:
    """When each is asked, and what it refuses. They read other tables, see `release`."""
    return {
        "m31a_approval_update": (f"BEFORE UPDATE ON {APPROVALS}", four_eyes.CHANGED),
        "m31a_approval_insert": (f"BEFORE INSERT ON {APPROVALS}", four_eyes.written(vendor)),
        "m31a_grant_update": (f"BEFORE UPDATE ON {GRANTS}", four_eyes.LIFTED),
        "m31a_grant_insert": (f"BEFORE INSERT ON {GRANTS}", four_eyes.LIFTED),
    }


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
        **{
            name: f"{when} WHEN {condition} {refuse(four_eyes.MESSAGE)}"
            for name, (when, condition) in _yes("sqlite").items()
        },
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
        **{
            name: [
                function(f"{name}_refused", condition, four_eyes.MESSAGE, "NEW"),
                *trigger(name, when, f"{name}_refused"),
            ]
            for name, (when, condition) in _yes("postgresql").items()
        },
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


def release(connection: Any) -> None:
    """Before a migration: SQLite remakes no table that a trigger of another one reads."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            for name in _yes(connection.vendor):
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}")


def missing(connection: Any) -> list[str]:
    """Names of triggers that are not in force as they must be. Where one of that name is there,
    but is switched off, or is not or does not do what ours does, "(changed)" follows."""
    vendor = connection.vendor
    with connection.cursor() as cursor:
        cursor.execute(_SQLITE_PRESENT if vendor == "sqlite" else _POSTGRES_PRESENT)
        present: dict[str, set[tuple[str, ...]]] = {}
        for name, *parts in cursor.fetchall():
            present.setdefault(name, set()).add(tuple(_flat(part) for part in parts))
    return [
        name if name not in present else f"{name} (changed)"
        for name, wanted in _wanted(vendor).items()
        if wanted not in present.get(name, set())
    ]


_SQLITE_PRESENT = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
_POSTGRES_PRESENT = """
    SELECT t.tgname, t.tgenabled::text, pg_get_triggerdef(t.oid, true), p.prosrc, l.lanname,
           coalesce(p.proconfig::text, '')
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_language l ON l.oid = p.prolang
    WHERE NOT t.tgisinternal
"""
_ALWAYS = "O"
"""How a trigger is switched on for everything but replication."""


def _wanted(vendor: str) -> dict[str, tuple[str, ...]]:
    """What the catalogue says of each trigger while nobody touched it."""
    if vendor == "sqlite":
        return {name: (_flat(f"CREATE TRIGGER {name} {rest}"),) for name, rest in _sqlite().items()}
    made = _postgres()
    bodies = {}
    for statement in itertools.chain(*made.values()):
        if statement.startswith("CREATE OR REPLACE FUNCTION"):
            head, body, _ = statement.split("$$")
            bodies[head.split()[4]] = body
    return {
        name: (_ALWAYS, _flat(statements[-1]), _flat(bodies[statements[-1].split()[-1]]),
               "plpgsql", "")
        for name, statements in made.items()
    }  # fmt: skip


def _flat(text: str) -> str:
    return " ".join(text.split())


def use_wal(connection: Any) -> None:
    """Switch an SQLite file to write-ahead logging; the file remembers it."""
    if connection.vendor == "sqlite" and not connection.is_in_memory_db():
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode=WAL")
