"""What the databases themselves refuse: changes of the record, and moves that are not in the table."""

from __future__ import annotations

import itertools

import pytest
from django.db import DatabaseError, IntegrityError, connection
from django.db.models import F
from django.db.models.functions import Now
from django.db.transaction import atomic

from m31a_site import checks
from runtime.journal import guards, verify
from runtime.journal.append import now
from runtime.models import Approval, Event, Run, Task, Tombstone
from runtime.worker import doctor
from runtime.workflow.states import LEASED, TaskState, legal
from tests.store.store_kit import a_run, asked, claimed, sql, without_guards

pytestmark = pytest.mark.usefixtures("both")


def refused(statement: str, *values: object, saying: str = "append-only") -> None:
    with pytest.raises(DatabaseError, match=saying), atomic():
        sql(statement, *values)


def test_an_event_cannot_be_changed_or_removed():
    run = a_run()
    before = list(Event.objects.values())
    for column in ("payload", "actor", "hash", "run", "type", "at"):
        refused(f"UPDATE runtime_event SET {column} = 'x' WHERE run = %s", run.pk)
    refused("UPDATE runtime_event SET seq = seq + 10")
    refused("UPDATE runtime_event SET seq = seq")
    refused("DELETE FROM runtime_event WHERE run = %s", run.pk)
    refused("DELETE FROM runtime_event")
    assert list(Event.objects.values()) == before


def test_an_event_cannot_be_replaced_by_another_of_its_number():
    run = a_run()
    before = list(Event.objects.values())
    columns = "run, seq, type, v, actor, at, payload, prev_hash, hash"
    values = (run.pk, 1, "x", 1, "a", "t", "{}", "p", "h")
    marks = ", ".join(["%s"] * len(values))
    insert = f"INTO runtime_event ({columns}) VALUES ({marks})"
    with pytest.raises(DatabaseError), atomic():
        sql(f"INSERT {insert}", *values)
    with pytest.raises(DatabaseError), atomic():
        sql(f"INSERT {insert} ON CONFLICT (run, seq) DO UPDATE SET payload = 'x'", *values)
    if connection.vendor == "sqlite":
        with pytest.raises(DatabaseError), atomic():
            sql(f"INSERT OR REPLACE {insert}", *values)
        with pytest.raises(DatabaseError), atomic():
            sql(
                f"INSERT OR REPLACE INTO runtime_event (id, {columns}) VALUES (%s, {marks})",
                before[0]["id"],
                run.pk,
                99,
                *values[2:],
            )
    assert list(Event.objects.values()) == before


def test_the_journal_cannot_be_emptied_at_once():
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has no TRUNCATE")
    a_run()
    refused("TRUNCATE runtime_event")
    refused("TRUNCATE runtime_event, runtime_tombstone CASCADE")
    refused("TRUNCATE runtime_tombstone")


def _bury(run: str) -> None:
    seq, head = Run.objects.values_list("event_seq", "head_hash").get(pk=run)
    Tombstone.objects.create(
        run=run, last_seq=seq, head_hash=head, actor="user:alice", reason="asked for", at="t"
    )


def test_a_tombstone_permits_the_deletion_of_its_run_alone():
    gone, stays = a_run(), a_run()
    _bury(gone.pk)
    with atomic():
        assert sql("DELETE FROM runtime_event WHERE run = %s", gone.pk) == 2
    refused("DELETE FROM runtime_event WHERE run = %s", stays.pk)
    assert Event.objects.filter(run=stays.pk).count() == 2


def test_a_tombstone_is_append_only_itself_and_stands_once():
    run = a_run()
    _bury(run.pk)
    refused("UPDATE runtime_tombstone SET reason = 'x'")
    refused("DELETE FROM runtime_tombstone")
    with pytest.raises(IntegrityError), atomic():
        _bury(run.pk)


def _put(task: Task, state: str) -> None:
    """A task in any state, whatever way leads there."""
    held = state in LEASED
    Task.objects.filter(pk=task.pk).delete()
    task.state, task.lease_expires_at = state, now() if held else None
    task.save(force_insert=True)


def test_a_task_moves_exactly_as_the_table_says():
    task = Task.objects.get(run=a_run())
    for before, after in itertools.product(TaskState, TaskState):
        if before == after:
            continue
        _put(task, before)
        change = {"state": after, "lease_expires_at": Now() if after in LEASED else None}
        if legal(before, after):
            assert Task.objects.filter(pk=task.pk).update(**change) == 1
            continue
        with pytest.raises(DatabaseError, match="illegal move"), atomic():
            Task.objects.filter(pk=task.pk).update(**change)
        assert Task.objects.get(pk=task.pk).state == before


def test_a_change_that_keeps_the_state_is_no_move():
    claim = claimed()
    rows = Task.objects.filter(pk=claim.task)
    assert rows.update(state="running", lease_seq=F("lease_seq") + 1) == 1


@pytest.mark.parametrize("held", [True, False])
def test_a_task_has_a_lease_if_and_only_if_it_is_held(held):
    task = Task.objects.get(run=a_run())
    if held:
        claimed(task.run)
    with pytest.raises(IntegrityError), atomic():
        Task.objects.filter(pk=task.pk).update(lease_expires_at=None if held else Now())


def test_a_task_has_one_open_question_at_most():
    approval = asked()
    with pytest.raises(IntegrityError), atomic():
        Approval.objects.create(
            **{**Approval.objects.filter(pk=approval.pk).values().get(), "id": "x" * 26}
        )


def test_missing_triggers_are_named_and_put_back():
    a_run()
    assert guards.missing(connection) == []
    assert verify.verify("system")["reason"] == ""
    without_guards()
    assert guards.missing(connection) == guards.names(connection.vendor)
    found = verify.verify("system")
    assert found["ok"] is True
    for name in guards.names(connection.vendor):
        assert name in found["reason"]
    guards.install(connection)
    guards.install(connection)
    assert guards.missing(connection) == []
    refused("DELETE FROM runtime_event")


def test_a_trigger_that_is_only_switched_off_counts_as_missing():
    if connection.vendor == "sqlite":
        pytest.skip("SQLite cannot switch a trigger off")
    for name in ("m31a_event_update", "m31a_event_truncate"):
        sql(f"ALTER TABLE runtime_event DISABLE TRIGGER {name}")
        assert guards.missing(connection) == [f"{name} (changed)"]
        sql(f"ALTER TABLE runtime_event ENABLE TRIGGER {name}")


def weakened(name: str) -> list[str]:
    """What somebody may put in the place of a trigger so that its name stands as before."""
    table = "runtime_task" if "task_move" in name else "runtime_event"
    of = " OF state" if "task_move" in name else ""
    if connection.vendor == "sqlite":
        mild = f"CREATE TRIGGER {name} BEFORE UPDATE{of} ON {table} BEGIN SELECT 1; END"
        return [f"DROP TRIGGER {name}", mild]
    call = "m31a_moves" if "task_move" in name else "m31a_append_only"
    return [
        f"DROP TRIGGER {name} ON {table}",
        f"CREATE TRIGGER {name} BEFORE UPDATE{of} ON {table} FOR EACH ROW "
        f"WHEN (OLD.id IS NULL) EXECUTE FUNCTION {call}()",
    ]


@pytest.mark.parametrize("name", ["m31a_event_update", "m31a_task_move"])
def test_a_trigger_that_was_weakened_is_noticed_and_put_back(name, monkeypatch):
    for statement in weakened(name):
        sql(statement)
    assert guards.missing(connection) == [f"{name} (changed)"]
    assert f"{name} (changed)" in verify.verify("system")["reason"]
    (error,) = checks.journal_is_guarded(["default"])
    assert f"{name} (changed)" in error.msg and "migrate" in error.hint
    monkeypatch.setattr(doctor, "_has_database", lambda: True)
    row = doctor._database()
    assert not row.ok and f"{name} (changed)" in row.detail and "migrate" in row.remedy
    guards.install(connection)
    assert guards.missing(connection) == []


def test_a_function_of_a_trigger_that_was_weakened_is_noticed():
    if connection.vendor == "sqlite":
        pytest.skip("SQLite's triggers hold what they do")
    sql(
        "CREATE OR REPLACE FUNCTION m31a_append_only() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RETURN NEW; END $$"
    )
    assert "m31a_event_update (changed)" in guards.missing(connection)
    assert "m31a_event_delete (changed)" not in guards.missing(connection)
    guards.install(connection)
    assert guards.missing(connection) == []


def test_triggers_of_the_operators_own_are_their_business():
    if connection.vendor != "sqlite":
        pytest.skip("said of SQLite")
    sql("CREATE TRIGGER watch AFTER INSERT ON runtime_event BEGIN SELECT 1; END")
    assert guards.missing(connection) == []
