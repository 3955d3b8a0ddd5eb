"""The loop detector: circles are found, work that goes on is not, and a step costs the same."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.agent.loops import NO_LOOPS, WINDOW, Loops, Step
from runtime.core import likeness


def step(action: str, result: str = "ok", tree: str = "t", *, edit: bool = False) -> Step:
    return Step(action, result, tree, edit)


def levels(steps: list[Step], kind: str = "run_tool") -> list[str]:
    """The level after each step."""
    loops, found = NO_LOOPS, []
    for one in steps:
        loops = loops.after(one, kind)
        found.append(loops.level)
    return found


def test_A18_the_same_step_is_observed_then_warned_about_then_stopped():
    assert levels([step("a")] * 9) == ["", "", *["warn"] * 5, "stop", "stop"]


@pytest.mark.parametrize("period", [1, 2, 3, 4, 5])
def test_A18_a_circle_of_several_steps_is_found_too(period):
    steps = [step("abcde"[n % period]) for n in range(40)]
    found = levels(steps)
    assert "warn" in found and "stop" in found
    assert found.index("warn") <= 3 * period and found.index("stop") <= 4 * period + 8
    assert found.index("warn") < found.index("stop")


def test_the_same_test_after_edits_is_no_circle():
    steps = []
    for number in range(60):
        steps += [step(f"edit {number}", "done", f"t{number}", edit=True)]
        steps += [step("run the test", "1 failed", f"t{number + 1}")]
    assert set(levels(steps)) == {""}


def test_the_same_question_with_another_answer_is_no_circle():
    assert set(levels([step("tail the log", f"line {n}") for n in range(100)])) == {""}


def test_reading_a_few_files_again_is_no_circle():
    files = [step(f"read {n}") for n in range(6)]
    assert "stop" not in levels([*files, step("think"), *files, step("more"), *files])


def test_F51_an_edit_that_differs_in_blanks_alone_is_one_edit():
    steps = [step("write x", "done", f"tree {n}", edit=True) for n in range(10)]
    found = levels(steps)
    assert found.index("warn") == 3 and found.index("stop") == 7


def test_waiting_for_a_job_has_more_time():
    assert "stop" not in levels([step("look")] * 20, "job_output")
    assert "stop" in levels([step("look")] * 40, "job_output")


def test_news_end_a_circle():
    assert levels([*[step("a")] * 7, step("b"), step("a")])[-2:] == ["", ""]


STEPS = st.builds(
    Step, st.sampled_from("abcdef"), st.sampled_from("xyz"), st.sampled_from("12"), st.booleans()
)


@given(st.lists(STEPS, max_size=120))
@settings(max_examples=200)
def test_what_is_remembered_is_bounded_and_counts_right(steps):
    loops = NO_LOOPS
    for number, one in enumerate(steps):
        earlier = steps[max(0, number - WINDOW) : number]
        loops = loops.after(one)
        assert loops.times == earlier.count(one) + 1
        assert len(loops.window) <= WINDOW
        assert (loops.idle == 0) == (one not in earlier)
        assert bool(loops.told()) == bool(loops.level)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=150, unique=True))
@settings(max_examples=100)
def test_steps_that_are_all_new_never_go_up_the_ladder(numbers):
    assert set(levels([step(str(number)) for number in numbers])) == {""}


@given(st.lists(STEPS, min_size=1, max_size=4), st.integers(20, 30))
@settings(max_examples=100)
def test_whatever_is_repeated_long_enough_is_stopped(circle, times):
    assert "stop" in levels(circle * times)


def test_a_step_costs_the_same_after_many():
    def cost(loops: Loops) -> float:
        began = time.perf_counter()
        for number in range(2000):
            loops = loops.after(step(str(number)))
        return time.perf_counter() - began

    old = NO_LOOPS
    for number in range(5000):
        old = old.after(step(str(number)))
    costs = [(cost(NO_LOOPS), cost(old)) for _ in range(5)]  # by turns, for a machine has its moods
    assert min(late for _, late in costs) < 3 * min(fresh for fresh, _ in costs)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a  b\n\n c ", "a b c"),
        ("passed in 0.31s", "passed in 12.04s"),
        ("2026-11-29T10:00:00Z failed", "2026-11-30 11:12:13.5 failed"),
        ("at 0x7f3a21bc0010", "at 0x7f99aabbccdd"),
        ("tests/test_a.py:31: error", "tests/test_a.py:48: error"),
        ('File "x.py", line 12, in f', 'File "x.py", line 90, in f'),
        ("commit 3f2a91bc77 made", "commit 88aa12cd34 made"),
        ("process 4711 died", "process 12 died"),
    ],
)
def test_what_changes_by_itself_makes_no_difference(one, other):
    assert likeness.of_text(one) == likeness.of_text(other)


@pytest.mark.parametrize(
    ("one", "other"), [("1 failed", "2 failed"), ("a", "b"), ("x" * 70_000, "x" * 70_000 + "y")]
)
def test_what_was_said_makes_one(one, other):
    assert likeness.of_text(one) != likeness.of_text(other)


def test_F51_actions_that_differ_in_blanks_or_order_alone_are_alike():
    one = {"kind": "run_tool", "program": "ls", "args": ["-l", " a "]}
    other = {"args": ["-l", "a", "  "], "program": " ls", "kind": "run_tool", "cwd": ""}
    assert likeness.of_action(one) == likeness.of_action(other)
    wide = {"kind": "run_tool", "program": "ls", "args": ["- l", "\u200ba\u00ad\ufeff"]}
    assert likeness.of_action(one) == likeness.of_action(wide)
    assert likeness.of_action(one) != likeness.of_action({**one, "args": ["a", "-l"]})


@given(st.text(max_size=300), st.sampled_from([" ", "\n", "\t  ", "\u2003"]))
def test_blanks_never_make_a_difference(text, blank):
    spread = blank.join(f" {text} ".split(" "))
    assert likeness.of_text(spread) == likeness.of_text(f" {text} ")
    assert likeness.of_action({"a": blank.join(text)}) == likeness.of_action({"a": text})


@pytest.mark.parametrize(
    "blank", ["\n", "\t", "\u2003", "  ", "\u200b ", "\u2066", "\U000e0041", "\ufe01"]
)
def test_blanks_of_any_sort_make_no_difference_to_what_changes_by_itself(blank):
    plain = "took 5 s, process 81, at 2026-11-30 10:00:00"
    later = "took 7 s, process 93, at 2026-12-01 11:30:00"
    assert likeness.of_text(plain) == likeness.of_text(later.replace(" ", f" {blank}"))
    assert likeness.of_text("all well") == likeness.of_text(blank.join("all well"))
