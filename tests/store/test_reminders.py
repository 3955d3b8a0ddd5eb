"""Questions that wait long are reminded of: once past half of their time, once near its end."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import connection

from runtime import approvals, runs
from runtime.approvals import expiring, reminding
from runtime.approvals.who import check_right
from runtime.cli import main
from runtime.core import clock
from runtime.core.errors import Refused
from runtime.journal import book, read, verify
from runtime.journal.append import now
from runtime.models import Approval, User
from runtime.people import service
from runtime.runs import replay
from runtime.worker import reconcile
from tests.kit import Cast
from tests.store.store_kit import asked, at_once, recompute, sql, types

pytestmark = pytest.mark.usefixtures("both")


class Time:
    """The clock of questions, set so many hours on from now."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def on(self, hours: float) -> None:
        later = now() + timedelta(hours=hours)
        for room in (book, expiring, reminding):
            self._patch.setattr(room, "now", lambda: later)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Questions are open for 24 hours."""
    return Time(monkeypatch)


def told(run: str) -> list[int]:
    """Which reminders the run's chain holds."""
    return [row.payload["nth"] for row in read.every(run) if row.type == "approval.reminded"]


def test_each_reminder_is_told_once_by_the_reconciler(people: Cast, time: Time):
    approval = asked()
    found = []
    for hours in (0, 11.9, 12.1, 12.2, 21.5, 21.7, 21.8, 23.9):
        time.on(hours)
        found.append(reconcile.once().reminded)
        assert reconcile.once().reminded == 0
    assert found == [0, 0, 1, 0, 0, 1, 0, 0]
    assert told(approval.run_id) == [1, 2]
    time.on(25)
    done = reconcile.once()
    assert (done.expired, done.reminded) == (1, 0)
    approval.refresh_from_db()
    assert (approval.state, approval.reminded, approval.remind_at) == ("expired", 2, None)
    recompute(approval.run_id)


def test_the_event_says_what_waits_until_when_and_who_may_answer(people: Cast, time: Time):
    service.add("anna", ["reviewer"], by=None)
    service.add("gone", ["reviewer"], by=None)
    User.objects.filter(username="gone").update(is_active=False)
    User.objects.create_superuser("root")
    mild, grave = asked(by=people.bob.username), asked(by="boss", decision="ESCALATE")
    service.add("boss", ["security"], by=None)
    question = asked(by=people.alice.username, kind="question")
    everybody = [*User.objects.all(), people.sol, people.mallory]
    time.on(13)
    assert approvals.remind_due() == 3
    for approval, who in ((mild, ["anna", "bob"]), (grave, ["sol"]), (question, None)):
        event = list(read.every(approval.run_id))[-1]
        assert (event.type, event.actor, event.task) == (
            "approval.reminded", "runtime", approval.task_id,
        )  # fmt: skip
        assert event.payload["approval"] == approval.pk
        assert event.payload["decision"] == approval.decision
        assert event.payload["expires_at"] == clock.stamp(approval.expires_at)
        names = event.payload["may_answer"]
        assert names == (who or ["alice", "anna", "bob"])
        for person in everybody:
            may = person.username in names
            try:
                check_right(approval, person)
            except Refused:
                assert not may, person
            else:
                assert may, person


def test_many_who_may_answer_are_counted_and_not_all_named(people: Cast, time: Time):
    for number in range(23):
        service.add(f"reviewer{number:02}", ["reviewer"], by=None)
    approval = asked()
    time.on(13)
    approvals.remind_due()
    payload = list(read.every(approval.run_id))[-1].payload
    assert (len(payload["may_answer"]), payload["more"]) == (20, 3)


def test_several_reconcilers_at_once_tell_it_once(people: Cast, time: Time):
    asks = [asked() for _ in range(4)]
    for hours, expected in ((13, [1]), (22, [1, 2])):
        time.on(hours)
        counts = at_once([approvals.remind_due] * 3)
        left = approvals.remind_due()  # one that another held in that moment
        assert sum(counts) + left == len(asks), counts
        assert all(told(approval.run_id) == expected for approval in asks)


def test_where_nothing_ran_for_long_only_the_last_one_is_told(people: Cast, time: Time):
    approval = asked()
    time.on(23)
    assert [approvals.remind_due(), approvals.remind_due()] == [1, 0]
    assert told(approval.run_id) == [2]


def test_nobody_is_reminded_of_what_was_answered_or_has_ended(people: Cast, time: Time):
    answered, denied, cancelled, void, past = (asked() for _ in range(5))
    approvals.decide(answered.pk, by=people.bob, verdict="approve")
    approvals.decide(denied.pk, by=people.bob, verdict="deny")
    runs.cancel(cancelled.run_id, people.alice)
    with book.open_run(void.run_id) as chain:
        approvals.supersede(chain, expiring.lock(void.pk)[1], "it changed")
    time.on(13)
    assert approvals.remind_due() == 1, "of the one that is open"
    time.on(25)
    assert approvals.remind_due() == 0, "its time is over"
    for approval in (answered, denied, cancelled, void):
        assert told(approval.run_id) == []
    assert told(past.run_id) == [1]


def test_an_answer_between_the_look_and_the_lock_keeps_it_silent(
    people: Cast, time: Time, monkeypatch: pytest.MonkeyPatch
):
    approval = asked()
    time.on(13)
    late = reminding._remind_one

    def first_answered(approval_id: str, run_id: str) -> bool:
        approvals.decide(approval_id, by=people.bob, verdict="approve")
        return late(approval_id, run_id)

    monkeypatch.setattr(reminding, "_remind_one", first_answered)
    assert approvals.remind_due() == 0
    assert told(approval.run_id) == []


def test_tables_agree_with_a_journal_that_holds_reminders_and_are_rebuilt_from_it(
    people: Cast, time: Time
):
    once, twice = asked(), asked()
    time.on(13)
    approvals.remind_due()
    approvals.decide(once.pk, by=people.bob, verdict="approve")
    time.on(22)
    approvals.remind_due()
    for approval, reminders in ((once, 1), (twice, 2)):
        assert replay.check(approval.run_id) == ""
        before = Approval.objects.filter(pk=approval.pk).values().get()
        assert before["reminded"] == reminders
        Approval.objects.filter(pk=approval.pk).update(reminded=0)
        assert "reminded is 0" in replay.check(approval.run_id)
        Approval.objects.filter(pk=approval.pk).delete()
        replay.rebuild(approval.run_id)
        assert replay.check(approval.run_id) == ""
        assert Approval.objects.filter(pk=approval.pk).values().get() == before
        assert verify.verify(approval.run_id)["ok"]
    assert approvals.remind_due() == 0, "a rebuilt row is reminded of no second time"
    time.on(25)
    approvals.expire_due()
    assert types(twice.run_id).count("approval.reminded") == 2


def test_overdue_questions_come_first_in_the_inbox_and_are_counted(people: Cast, time: Time):
    old = asked()
    time.on(13)
    approvals.remind_due()
    grave = asked(decision="ESCALATE")
    assert list(approvals.pending(people.bob)) == [old, grave]
    assert approvals.waiting(people.bob) == (2, 1, grave.pk)
    assert approvals.waiting(people.mallory) == (0, 0, None)
    approvals.decide(old.pk, by=people.bob, verdict="approve")
    assert approvals.waiting(people.bob) == (1, 0, grave.pk)


def test_the_command_line_lists_it_first_and_says_so(
    people: Cast, time: Time, capsys: pytest.CaptureFixture[str]
):
    old, bob = asked(), people.bob.username
    time.on(13)
    approvals.remind_due()
    grave = asked(decision="ESCALATE")
    assert main.run(["approvals"], bob, json=False) == 0
    first, second = capsys.readouterr().out.splitlines()
    until = old.expires_at.strftime("%Y-%m-%d %H:%M:%S UTC")
    assert old.pk in first and "overdue: waits since" in first and until in first
    assert grave.pk in second and "overdue" not in second
    assert main.run(["approvals", "--full"], bob, json=True) == 0
    rows = json.loads(capsys.readouterr().out)["approvals"]
    assert [(row["id"], row["reminded"]) for row in rows] == [(old.pk, 1), (grave.pk, 0)]


def test_a_pass_finds_what_is_due_by_an_index(people: Cast):
    asked()
    if connection.vendor != "sqlite":
        sql("SET enable_seqscan = off")  # of a few rows it would rather read them all
    assert "approval_reminders" in reminding.due(now()).explain()
