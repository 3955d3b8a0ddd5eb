"""Queries whose text is made once ask what the ORM would ask."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.journal.prepared import Prepared
from runtime.models import Run, Task
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


def test_a_value_without_a_place_is_refused(runs: list[Run]):
    careless = Prepared(lambda run: Task.objects.all())
    with pytest.raises(TypeError, match="no place"):
        careless.first(runs[0].pk)
