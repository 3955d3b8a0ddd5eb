"""The database itself: nobody but a member of security makes an ESCALATE a yes."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.transaction import atomic

from runtime import approvals
from runtime.approvals.expiring import lock
from runtime.core.errors import Refused
from runtime.journal import guards, verify
from runtime.journal.append import new_id, now
from runtime.journal.book import open_run
from runtime.models import SECURITY, Approval, Grant, Run, Task, User
from runtime.people import rights, service
from runtime.runs import replay
from tests.kit import Cast
from tests.store.store_kit import asked, sql, without_guards

pytestmark = pytest.mark.usefixtures("both")

LATE = "m31a_approval_update"


def rows(approval: Approval) -> Any:
    """The row of a question, past the service."""
    return Approval.objects.filter(pk=approval.pk)


def refused(change: Any, **values: Any) -> None:
    with pytest.raises(DatabaseError, match="member of security"), atomic():
        change(**values)


def test_only_a_member_of_security_turns_an_ESCALATE_into_a_yes(people: Cast):
    User.objects.create_superuser("root")
    gone = service.add("gone", [SECURITY], by=None)
    User.objects.filter(pk=gone.pk).update(is_active=False)
    approval = asked(decision="ESCALATE")
    for name in (people.alice.username, people.bob.username, "root", "gone", "nobody", None):
        refused(rows(approval).update, state="approved", decided_by=name)
    with pytest.raises(DatabaseError, match="member of security"), atomic():
        sql("UPDATE runtime_approval SET state = 'approved', decided_by = 'bob'")
    assert rows(approval).get().state == "pending"
    assert rows(approval).update(state="approved", decided_by=people.sol.username) == 1


def test_a_member_who_submitted_is_refused_all_the_same(people: Cast):
    boss = service.add("boss", [SECURITY], by=None)
    approval = asked(by="boss", decision="ESCALATE")
    with pytest.raises(DatabaseError), atomic():
        rows(approval).update(state="approved", decided_by=boss.username)


def test_a_right_that_came_from_another_group_is_refused_by_service_and_database(people: Cast):
    other = Group.objects.create(name="deciders")
    other.permissions.add(Permission.objects.get(codename="decide_critical"))
    people.mallory.groups.add(other)
    approval = asked(decision="ESCALATE")
    with pytest.raises(Refused, match="may not answer an ESCALATE"):
        approvals.decide(approval.pk, by=people.mallory, verdict="approve")
    refused(rows(approval).update, state="approved", decided_by=people.mallory.username)
    assert rights.roles_with("decide_critical") == (SECURITY,)


def test_what_was_asked_cannot_become_something_milder_first(people: Cast):
    approval = asked(decision="ESCALATE")
    refused(rows(approval).update, decision="ASK")
    refused(rows(approval).update, submitted_by="nobody")
    mild = asked()
    refused(rows(mild).update, decision="ESCALATE", state="approved", decided_by="bob")
    assert rows(mild).update(state="approved", decided_by="bob") == 1


def test_what_was_given_stays_usable_when_its_giver_has_left(people: Cast):
    approval = asked(decision="ESCALATE")
    approvals.decide(approval.pk, by=people.sol, verdict="approve", scope="run")
    people.sol.groups.clear()
    assert rows(approval).update(consumed_fence=7) == 1
    refused(rows(approval).update, decided_by="bob")
    assert rows(approval).update(state="superseded") == 1
    denied = asked(decision="ESCALATE")
    refused(rows(denied).update, state="superseded", decided_by="bob")
    assert rows(denied).update(state="denied", decided_by="bob") == 1, "a no is no permission"


def test_a_yes_that_is_written_whole_is_what_the_journal_says(people: Cast):
    approval = asked(decision="ESCALATE")
    whole = rows(approval).values().get()
    Approval.objects.all().delete()
    made = {**whole, "state": "approved", "decided_by": people.sol.username}
    refused(Approval.objects.create, **made)
    if connection.vendor == "sqlite":
        refused(Approval.objects.create, **{**made, "id": "%"})
        names, marks = ", ".join(made), ", ".join(["%s"] * len(made))
        with pytest.raises(DatabaseError, match="member of security"), atomic():
            sql(f"INSERT OR REPLACE INTO runtime_approval ({names}) VALUES ({marks})",
                *map(_plain, made.values()))  # fmt: skip
    assert not Approval.objects.exists()


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | None) else value.isoformat(" ")


def test_a_grant_lifts_an_ESCALATE_only_behind_such_a_yes(people: Cast):
    approval = asked()
    approvals.decide(approval.pk, by=people.bob, verdict="approve", scope="run")
    mild = Grant.objects.get()
    refused(Grant.objects.filter(pk=mild.pk).update, lifts="ESCALATE")
    grave = asked(decision="ESCALATE")
    whole = {**Grant.objects.values().get(), "id": new_id(), "lifts": "ESCALATE"}
    refused(Grant.objects.create, **{**whole, "approval_id": grave.pk})
    approvals.decide(grave.pk, by=people.sol, verdict="approve", scope="run")
    given = Grant.objects.filter(approval=grave.pk)
    refused(given.update, granted_by="bob")
    assert given.update(revoked_at=now(), revoked_by="bob") == 1


@pytest.mark.parametrize("void", [False, True])
def test_rows_are_rebuilt_after_the_member_has_left_the_group(people: Cast, void: bool):
    approval = asked(decision="ESCALATE")
    approvals.decide(approval.pk, by=people.sol, verdict="approve", scope="run")
    if void:
        with open_run(approval.run_id) as book:
            approvals.supersede(book, lock(approval.pk)[1], "it changed")
    before = rows(approval).values().get()
    people.sol.groups.clear()
    Grant.objects.all().delete()
    Approval.objects.all().delete()
    Task.objects.filter(run=approval.run_id).delete()
    assert replay.check(approval.run_id) != ""
    replay.rebuild(approval.run_id)
    assert replay.check(approval.run_id) == ""
    assert rows(approval).values().get() == before
    assert Grant.objects.get().lifts == "ESCALATE"


def test_a_guard_that_was_taken_away_is_named_and_put_back(people: Cast):
    asked(decision="ESCALATE")
    sql(f"DROP TRIGGER {LATE}" + ("" if connection.vendor == "sqlite" else " ON runtime_approval"))
    assert guards.missing(connection) == [LATE]
    assert LATE in verify.verify("system")["reason"]
    guards.install(connection)
    assert guards.missing(connection) == []


def test_an_installation_of_before_gets_it_by_migrating(people: Cast):
    """Its open questions are reminded of, and what was answered long ago stays as it is."""
    old, given = asked(), asked(decision="ESCALATE")
    approvals.decide(given.pk, by=people.sol, verdict="approve")
    without_guards()
    _migrate("0007_budgets")
    _migrate("0008_reminders")
    _migrate("0009_newer_kinds")
    guards.install(connection)
    assert guards.missing(connection) == []
    for run in Run.objects.exclude(pk="system"):
        assert replay.check(run.pk) == ""
    old.refresh_from_db()
    assert old.remind_at == old.requested_at + (old.expires_at - old.requested_at) / 2
    assert rows(given).update(consumed_fence=3) == 1


def _migrate(name: str) -> None:
    MigrationExecutor(connection).migrate([("runtime", name)])


def test_tables_that_the_guards_read_can_be_remade_by_a_migration(people: Cast):
    asked(decision="ESCALATE")
    call_command("migrate", "runtime", "0007_budgets", verbosity=0)
    call_command("migrate", verbosity=0)
    assert guards.missing(connection) == []
