"""The table of moves: each pair of states by its entry in the written table, and runs."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.journal import guards
from runtime.workflow.states import (
    LEASED,
    MOVES,
    RUN_TERMINAL,
    TERMINAL,
    RunState,
    TaskState,
    legal,
    pairs,
    run_state,
)

WRITTEN = {
    "T2": ("blocked", "ready"),
    "T3": ("blocked", "skipped"),
    "T4": ("ready", "running"),
    "T6": ("running", "succeeded"),
    "T7 T11 T13": ("running", "ready"),
    "T8 T12": ("running", "failed"),
    "T9": ("running", "waiting"),
    "T10": ("waiting", "ready"),
    "T14 blocked": ("blocked", "cancelled"),
    "T14 ready": ("ready", "cancelled"),
    "T14 waiting": ("waiting", "cancelled"),
    "T15": ("running", "cancelling"),
    "T16": ("cancelling", "cancelled"),
    "T17": ("ready", "blocked"),
    "T18 failed": ("failed", "ready"),
    "T18 failed, blocked": ("failed", "blocked"),
    "T18 skipped": ("skipped", "blocked"),
}
STATES = [str(state) for state in TaskState]


@pytest.mark.parametrize(("before", "after"), list(itertools.product(STATES, STATES)))
def test_a_move_is_legal_exactly_where_it_is_written(before, after):
    assert legal(before, after) == ((before, after) in WRITTEN.values())


def test_the_triggers_hold_the_same_pairs():
    assert sorted(pairs()) == sorted(WRITTEN.values())
    assert guards._MOVES.count("OLD.state") == len(WRITTEN)
    for before, after in WRITTEN.values():
        assert f"OLD.state = '{before}' AND NEW.state = '{after}'" in guards._MOVES


def test_only_a_retry_leaves_a_terminal_state():
    for state in TERMINAL:
        assert MOVES[state] <= {"ready", "blocked"}
    assert not MOVES[TaskState.SUCCEEDED]
    assert not MOVES[TaskState.CANCELLED]


def test_cancel_wins_once_recorded():
    assert MOVES[TaskState.CANCELLING] == {TaskState.CANCELLED}


def test_an_unknown_state_is_an_error_and_not_a_move():
    with pytest.raises(ValueError):
        legal("running", "flying")


def _run(*tasks: str, cancel: bool = False, failure: bool = False) -> str:
    return str(run_state(tasks, cancel_requested=cancel, unhandled_failure=failure))


def test_a_run_without_tasks_is_planned():
    assert _run() == "planning"
    assert _run(cancel=True, failure=True) == "planning"


@pytest.mark.parametrize("active", ["ready", "running", "cancelling"])
@pytest.mark.parametrize("other", STATES)
def test_a_run_with_an_active_task_runs(active, other):
    assert _run(active, other, cancel=True, failure=True) == "running"


@pytest.mark.parametrize("other", ["waiting", "blocked", "succeeded", "failed", "skipped"])
def test_a_run_waits_where_nothing_is_active_and_something_waits(other):
    assert _run("waiting", other) == "waiting"


@pytest.mark.parametrize(
    ("tasks", "cancel", "failure", "state"),
    [
        (["succeeded"], False, False, "succeeded"),
        (["succeeded", "skipped"], False, False, "succeeded"),
        (["failed"], False, True, "failed"),
        (["failed", "succeeded"], False, False, "succeeded"),
        (["failed", "cancelled"], True, True, "cancelled"),
        (["cancelled"], True, False, "cancelled"),
        # The task was faster than the cancel: the result stands.
        (["succeeded"], True, False, "succeeded"),
        (["failed"], True, True, "failed"),
    ],
)
def test_a_run_whose_tasks_ended_ends_by_their_ends(tasks, cancel, failure, state):
    assert _run(*tasks, cancel=cancel, failure=failure) == state


@given(st.lists(st.sampled_from(STATES), min_size=1), st.booleans(), st.booleans())
def test_a_run_has_ended_exactly_when_all_of_its_tasks_have(tasks, cancel, failure):
    state = run_state(tasks, cancel_requested=cancel, unhandled_failure=failure)
    assert (state in RUN_TERMINAL) == all(task in TERMINAL for task in tasks)
    assert state is not RunState.PLANNING


def test_what_is_leased_is_not_terminal():
    assert not LEASED & TERMINAL
