"""Queries whose text is made once ask what the ORM would ask."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, connections
from django.db.models import Q
from django.db.transaction import TransactionManagementError, atomic
from django.test.utils import CaptureQueriesContext

from runtime.journal import book, newer
from runtime.journal.prepared import Prepared
from runtime.models import Run, Task
from runtime.tasks import claims, moves
from tests.store.store_kit import a_run


@pytest.fixture
def runs(both: str) -> list[Run]:
    return [a_run("one", "two"), a_run("one", "two")]


def test_each_value_stands_where_it_was_given(runs: list[Run]):
    of_run = Prepared(lambda key, run: Task.objects.filter(run=run, key=key, state="ready"))
    for key in ("one", "two"):
        for run in runs:
            (task,) = of_run.rows(key, run.pk)
            assert (task.key, task.run_id) == (key, run.pk)


def test_a_value_is_never_text_of_the_query(runs: list[Run]):
    of_run = Prepared(lambda run: Task.objects.filter(run=run))
    assert of_run.exists(runs[0].pk)
    for value in ("' OR '1'='1", "%s", "x", ""):
        assert not of_run.exists(value)
        assert of_run.first(value) is None


def test_more_values_are_another_text(runs: list[Run]):
    def build(*run: str) -> Any:
        return Task.objects.filter(run=run[0]) if run else Task.objects.all()

    tasks = Prepared(build)
    assert len(list(tasks.rows())) == 4
    assert len(list(tasks.rows(runs[0].pk))) == 2


def test_the_text_follows_what_it_was_made_from(runs: list[Run]):
    wanted = "one"
    tasks = Prepared(lambda: Task.objects.filter(key=wanted), lambda: wanted)
    assert [task.key for task in tasks.rows()] == ["one", "one"]
    wanted = "two"
    assert [task.key for task in tasks.rows()] == ["two", "two"]


def test_rows_are_asked_for_when_they_are_read(runs: list[Run]):
    later = Prepared(lambda run: Task.objects.filter(run=run)).rows(runs[0].pk)
    Task.objects.filter(run=runs[0]).update(priority=9)
    assert {task.priority for task in later} == {9}


def test_each_kind_of_database_has_its_own_text(runs: list[Run], monkeypatch: pytest.MonkeyPatch):
    wanted = "one"
    tasks = Prepared(lambda: Task.objects.filter(key=wanted))
    assert [task.key for task in tasks.rows()] == ["one", "one"]
    monkeypatch.setattr(connections["default"], "vendor", "another")
    wanted = "two"
    assert [task.key for task in tasks.rows()] == ["two", "two"]


@pytest.mark.parametrize(
    "build",
    [
        lambda run: Task.objects.all(),
        lambda run: Task.objects.filter(key__startswith=run),
        lambda run: Task.objects.filter(Q(run=run) | Q(key__startswith=run)),
        lambda run: Task.objects.extra(where=[f"key = '{run}'"]).filter(run=run),
    ],
    ids=["nowhere", "changed", "changed the second time", "as text"],
)
def test_a_value_without_a_place_of_its_own_is_refused(runs: list[Run], build: Any):
    with pytest.raises(TypeError, match="no place of its own"):
        Prepared(build).first(runs[0].pk)


def test_rows_are_locked_inside_a_transaction_only_also_the_second_time(runs: list[Run]):
    locked = Prepared(lambda run: Run.objects.select_for_update().filter(pk=run))
    for _ in range(2):
        with atomic():
            assert locked.first(runs[0].pk) == runs[0]
        with pytest.raises(TransactionManagementError):
            locked.first(runs[0].pk)


PREPARED = {
    book._RUN: 1,
    book._RUN_IF_FREE: 1,
    moves._TASK: 1,
    newer._KINDS: 1,
    claims._NEXT: 0,
    claims._THIS: 1,
    claims._THIS_LOCKED: 1,
    claims._UNMET: 1,
}
"""Those of the product, and how many values they take at least."""


@pytest.mark.parametrize("query", PREPARED)
def test_those_of_the_product_ask_what_the_orm_asks(runs: list[Run], query: Prepared[Any]):
    """Also where this process has asked another kind of database before."""
    values = [runs[0].pk] * PREPARED[query]
    if query is book._RUN_IF_FREE and not book.one_of_many():
        pytest.skip("asked only where several write at once")
    with atomic(), CaptureQueriesContext(connection) as asked:
        query.columns(*values)
        list(query._build(*values))
    prepared, direct = (one["sql"] for one in asked)
    assert prepared == direct


def test_what_is_locked_says_so_to_a_database_with_many_writers(both: str):
    run = a_run()
    with atomic(), CaptureQueriesContext(connection) as asked:
        for query in (book._RUN, book._RUN_IF_FREE) if book.one_of_many() else (book._RUN,):
            query.first(run.pk)
        for query in (moves._TASK, claims._THIS_LOCKED):
            query.first(run.task_set.get().pk)
    locks = [one["sql"].partition(" FOR UPDATE")[1:] for one in asked if "WHERE" in one["sql"]]
    assert [lock for lock in locks if lock[0]] == (
        [
            (" FOR UPDATE", ""),
            (" FOR UPDATE", " SKIP LOCKED"),
            (" FOR UPDATE", ""),
            (" FOR UPDATE", ""),
        ]
        if both == "postgres"
        else []
    )
