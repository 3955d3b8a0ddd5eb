"""The pictures of the state machines in the documentation are those that the code runs.

    python -m tests.unit.test_state_pictures

writes them anew after a change of the tables.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from runtime.workflow.states import MOVES, RUN_TERMINAL, TaskState, pairs, run_state

PAGE = Path(__file__).resolve().parents[2] / "docs" / "durability.md"

BY: dict[tuple[str, str], str] = {
    ("blocked", "ready"): "task.ready",
    ("blocked", "skipped"): "task.skipped",
    ("blocked", "cancelled"): "task.cancelled",
    ("ready", "running"): "task.claimed",
    ("ready", "blocked"): "task.demoted",
    ("ready", "cancelled"): "task.cancelled",
    ("running", "ready"): "task.released, task.ready",
    ("running", "waiting"): "task.waiting",
    ("running", "succeeded"): "task.succeeded",
    ("running", "failed"): "task.failed",
    ("running", "cancelling"): "task.cancelling",
    ("waiting", "ready"): "task.ready",
    ("waiting", "cancelled"): "task.cancelled",
    ("cancelling", "cancelled"): "task.cancelled",
    ("failed", "ready"): "task.retried",
    ("failed", "blocked"): "task.retried",
    ("skipped", "blocked"): "task.retried",
}
"""The events that a move writes."""

FIRST_TASK = ("blocked", "ready")
APPROVALS = ("approved", "denied", "expired", "cancelled", "superseded")


def _chart(lines: list[str]) -> str:
    return "\n".join(["```mermaid", "stateDiagram-v2", *(f"    {line}" for line in lines), "```"])


def task_picture() -> str:
    """Every legal move of a task, and what it writes."""
    begin = [f"[*] --> {state}" for state in FIRST_TASK]
    moves = [f"{a} --> {b}: {BY[a, b]}" for a, b in pairs()]
    ends = [f"{state} --> [*]" for state in TaskState if not MOVES[state]]
    return _chart([*begin, *moves, *ends])


def run_moves() -> set[tuple[str, str]]:
    """Every change of a run's state that a move of one of its tasks can cause, found by trying
    all runs of up to three tasks. Only a failed run is left again once it has ended."""
    found = set()
    for tasks, cancel, failure in _runs():
        before = _state(tasks, cancel, failure)
        for index, move in itertools.product(range(len(tasks)), pairs()):
            if tasks[index] != move[0] or (before in RUN_TERMINAL and before != "failed"):
                continue
            if move[1].startswith("cancel") and not cancel:
                continue  # tasks are cancelled with their run
            after = _state([*tasks[:index], move[1], *tasks[index + 1 :]], cancel, failure)
            if before != after and not (before == "failed" and after in RUN_TERMINAL):
                found.add((before, after))
    return found | {("planning", "running")}


def _runs() -> Iterator[tuple[list[str], bool, bool]]:
    for count in (1, 2, 3):
        for tasks in itertools.combinations_with_replacement(map(str, TaskState), count):
            for cancel, failure in itertools.product((False, True), (False, True)):
                yield list(tasks), cancel, failure


def _state(tasks: list[str], cancel: bool, failure: bool) -> str:
    unhandled = failure and "failed" in tasks
    return str(run_state(tasks, cancel_requested=cancel, unhandled_failure=unhandled))


def run_picture() -> str:
    """Every change of a run's state."""
    begin = ["[*] --> planning", "[*] --> running"]
    moves = [f"{a} --> {b}" for a, b in sorted(run_moves())]
    ends = [f"{state} --> [*]" for state in sorted(RUN_TERMINAL) if state != "failed"]
    return _chart([*begin, *moves, *ends])


def approval_picture() -> str:
    """Every end of a question."""
    moves = [f"pending --> {state}: approval.{state}" for state in APPROVALS]
    return _chart(["[*] --> pending: approval.requested", *moves])


PICTURES = {"task": task_picture, "run": run_picture, "approval": approval_picture}


def drawn(text: str, name: str) -> str:
    """The picture that stands in a text."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert found, f"there is no place for the picture {name}"
    return found[1]


def test_the_pictures_in_the_documentation_are_those_of_the_code():
    text = PAGE.read_text("utf-8")
    for name, draw in PICTURES.items():
        assert drawn(text, name) == draw(), f"{name}: python -m tests.unit.test_state_pictures"


def test_every_move_has_its_events_and_they_exist():
    from runtime.journal.kinds import REGISTRY

    assert BY.keys() == set(pairs())
    assert {name for names in BY.values() for name in names.split(", ")} <= REGISTRY.keys()


def test_a_question_ends_in_every_way_that_its_row_knows():
    from runtime.journal.kinds import REGISTRY
    from runtime.models import Approval

    assert {*APPROVALS, "pending"} == set(Approval.State.values)
    assert {f"approval.{state}" for state in APPROVALS} <= REGISTRY.keys()


def test_a_run_ends_and_only_a_failed_one_goes_on():
    moves = run_moves()
    assert {a for a, b in moves if a in RUN_TERMINAL} == {"failed"}
    assert {b for a, b in moves if a == "failed"} == {"running"}
    assert {b for a, b in moves if b in RUN_TERMINAL} == set(RUN_TERMINAL)


def write() -> None:
    """Put the pictures into the documentation."""
    text = PAGE.read_text("utf-8")
    for name, draw in PICTURES.items():
        frame = f"<!-- {name} -->\n{{}}\n<!-- end -->"
        text = text.replace(frame.format(drawn(text, name)), frame.format(draw()))
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
