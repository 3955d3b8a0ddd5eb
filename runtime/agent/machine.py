"""What comes next, decided from the state alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from .state import Pending, State

MAX_REFUSED = 3
"""Answers in a row that are no valid action; then the task ends."""
MAX_EXPIRED = 3
"""Times that one and the same action may wait in vain; then the task ends."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask the model for the next action."""


@dataclass(frozen=True, slots=True)
class Decide:
    """Put the pending action before the gate again, with the answer it got."""

    pending: Pending


@dataclass(frozen=True, slots=True)
class Answer:
    """Give the model the answer of a person to its own question."""

    pending: Pending


@dataclass(frozen=True, slots=True)
class Refuse:
    """Tell the model that the pending action is not done, and why."""

    pending: Pending
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class Recover:
    """A worker died while the pending action ran: find out what is known about it."""

    pending: Pending


@dataclass(frozen=True, slots=True)
class Fail:
    """End the task."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until a person answers."""


Effect = AskModel | Decide | Answer | Refuse | Recover | Fail | Wait


def step(state: State) -> Effect:
    """The next effect for a task that is held."""
    pending = state.pending
    if pending is not None:
        return _go_on(state, pending)
    if state.refused_in_row >= MAX_REFUSED:
        return Fail(
            "invalid_answers",
            f"{MAX_REFUSED} answers in a row were no valid action.",
        )
    if state.steps >= state.max_steps:
        return Fail("step_limit", f"All {state.max_steps} steps are used.")
    if state.loops.level == "stop":
        return Fail("loop_detected", _round(state))
    return AskModel()


def _round(state: State) -> str:
    loops = state.loops
    if loops.idle:
        return (
            f"The last {loops.idle} steps brought nothing new; the last one was taken "
            f"{loops.times} times with the same result."
        )
    return f"The same edit was made {loops.edits} times; only blanks differ."


def _go_on(state: State, pending: Pending) -> Effect:
    if pending.kind == "budget":
        return _paused(pending)
    if pending.started:
        return Recover(pending)
    if pending.answer == "pending":
        return Wait()
    if pending.answer == "denied":
        why = f": {pending.comment}" if pending.comment else "."
        return Refuse(pending, f"A person denied this action{why}", "person")
    if pending.answer == "expired":
        if state.expired.count(pending.key) >= MAX_EXPIRED:
            return Fail(
                "approvals_expired",
                f"{MAX_EXPIRED} times nobody answered the same question in time.",
            )
        return Refuse(
            pending,
            "Nobody answered in time. That is no denial; propose it again if it is still needed.",
            "expiry",
        )
    if pending.answer == "approved" and pending.kind == "ask_human":
        return Answer(pending)
    return Decide(pending)


def _paused(pending: Pending) -> Effect:
    """A person was asked whether the run may use the rest of a budget."""
    if pending.answer == "denied":
        why = f": {pending.comment}" if pending.comment else "."
        return Fail("budget_denied", f"A person did not let the run use more{why}")
    return Wait()
