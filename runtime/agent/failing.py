"""What follows from a call of the model that gave no whole answer.

By itself nothing: the task ends, and its edits stay. A workspace may allow a bounded number of
further tries, each after a while in which no worker is held, and then another model once. Every
failed call is an event, and counts against the budgets.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from django.conf import settings

from runtime import tasks
from runtime.journal.deltas import remove
from runtime.journal.kind import Payload
from runtime.journal.kinds import ContextCompacted, MessageCut, ModelFailed
from runtime.providers import ProviderError

from . import background, endings, projections, spending
from .session import Session

FIRST_WAIT, LONGEST_WAIT = 2, 300
"""Seconds before the second try, doubled with each, and at most."""
LONGEST_ASKED = 600
"""Seconds that a server may ask to wait; for a longer wait nobody holds a task back."""
NO_OTHER = frozenset({"cancelled", "exhausted"})
"""Failures for which another model is no answer."""


class Plan(NamedTuple):
    """What follows: fail, retry, compact, fallback or stop; and the wait before it, in seconds."""

    then: str
    wait: int = 0
    why: str = ""
    reason: str = ""
    """Why the task ends, where that is not the failure."""


def settle(session: Session, message: str, error: ProviderError, seconds: float) -> None:
    """Journal the failure, and do what follows. What had streamed is kept and marked."""
    plan = _plan(session, error)
    if session.lost.is_set():
        return  # what was reserved counts, and somebody else goes on
    failed = ModelFailed(
        message=message,
        model=session.spec,
        kind=error.kind,
        detail=str(error)[: endings.MAX_DETAIL],
        attempt=session.state.tries + (plan.then != "stop"),
        then=plan.then,
        wait=plan.wait,
        retry_after=error.retry_after,
        spent=spending.of_failure(session, error, seconds),
    )
    events: list[Payload] = []
    if error.partial:
        events.append(MessageCut(message=message, text=error.partial, reason=error.kind))
    _do(session, plan, error, [*events, failed])
    if error.partial:
        remove(session.run.pk, message)


def _plan(session: Session, error: ProviderError) -> Plan:
    """Decided from the failure, what the workspace allows, and what was tried already."""
    state, workspace = session.state, session.workspace
    if error.kind == "cancelled":
        return Plan("stop")
    if error.kind == "timeout" and session.model_seconds < settings.M31A.MODEL_SECONDS:
        return Plan("fail", reason="budget_exhausted", why="The run's time (wall_seconds) is over.")
    most = workspace.provider_retries
    if error.kind == "context_length" and most and not state.squeezed:
        return Plan("compact")
    tries_left = error.retryable and state.tries < most
    if tries_left and (error.retry_after or 0) <= LONGEST_ASKED:
        return Plan("retry", _wait(state.tries, error.retry_after))
    if workspace.fallback and not state.fallback and error.kind not in NO_OTHER:
        return Plan("fallback")
    if tries_left:
        return Plan(
            "fail", why=f"It asks to wait {error.retry_after} s; {LONGEST_ASKED} are the most."
        )
    return Plan("fail")


def _wait(tries: int, asked: int | None) -> int:
    """Seconds: never before the server wants to be asked, and not all at the same moment."""
    longest = min(LONGEST_WAIT, FIRST_WAIT << min(tries, 16))
    return max(asked or 0, random.randint((longest + 1) // 2, longest))


def _do(session: Session, plan: Plan, error: ProviderError, events: list[Payload]) -> None:
    if tasks.peek(session.claim) == "cancel":
        events += background.farewell(session, "cancelled")[0]
        rows = projections.job_rows(session, events)
        endings.acknowledge_cancel(session.claim, events, rows)
        session.lost.set()
    elif plan.then in {"stop", "fallback"}:
        session.append(events)
    elif plan.then == "compact":
        session.append([*events, _harder(session)])
    elif plan.then == "retry":
        background.end_all(session, "waiting")
        endings.put_off(session.claim, plan.wait, events)
        session.absorb(events)
    else:
        events += background.farewell(session, "task_failed")[0]
        rows = projections.job_rows(session, events)
        detail = " ".join(filter(None, (str(error), plan.why)))
        reason = plan.reason or f"provider_{error.kind}"
        endings.fail(session.claim, reason, detail, events, rows)


def _harder(session: Session) -> ContextCompacted:
    """The next prompt is bounded to half."""
    state, prompts = session.state, session.prompts
    cut = prompts.cut(state, harder=True)
    if cut is not None:
        return ContextCompacted(**cut._asdict(), reason="context_length")
    size = prompts.make(state).weight()
    return ContextCompacted(
        shortened=state.shortened,
        dropped=state.dropped,
        before=size,
        after=size,
        reason="context_length",
    )
