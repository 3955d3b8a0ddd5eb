"""Does what the step machine asks, for one hold on one task.

Between two appends lies at most one effect, so every crash leaves a state that the next
holder can read off the journal.
"""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Callable

from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError

from runtime import approvals, faults, tasks
from runtime.core import likeness
from runtime.core.actions import Action, AskHuman, Finish
from runtime.core.errors import BadInput, M31AError, Refused, StaleFence, Unavailable
from runtime.journal import newer
from runtime.journal.kind import Payload
from runtime.journal.kinds import ActionCompleted
from runtime.providers import ProviderError
from runtime.runs import confining
from runtime.secrets import redactor
from runtime.tasks import Claim

from . import (
    background,
    delivering,
    endings,
    inputs,
    machine,
    pausing,
    proposing,
    recovering,
    spending,
    verifying,
)
from .cards import ask_human
from .executing import execute
from .outcome import Outcome
from .projections import artifact_rows, job_rows, trace_row
from .session import Session
from .state import Pending

log = logging.getLogger(__name__)


def drive(
    claim: Claim,
    *,
    stop: threading.Event,
    cancel: threading.Event,
    lost: threading.Event,
) -> None:
    """Work on a claimed task until it ends, waits, or has had its slice; afterwards this process
    holds nothing. What goes wrong ends the task, and the journal says why.

    Raises only where the database does not answer: nothing is known to be wrong with the task
    then, so its lease runs out, and it is tried again.
    """
    session: Session | None = None
    try:
        session = Session(claim, stop=stop, cancel=cancel, lost=lost)
        session.prepare()
        if session.state.lost:
            _after_loss(session)
        background.note_lost(session)
        _slice(session)
    except StaleFence:
        _let_go(claim, session)
    except newer.Newer as error:
        _leave(claim, error)
    except (OperationalError, InterfaceError, InternalError):
        raise
    except (Unavailable, Refused, ProviderError, BadInput) as error:
        if isinstance(error, Unavailable):
            confining.look("worker", fresh=True)
        _end(claim, session, _reason(error), str(error))
    except Exception as error:
        log.exception("task %s failed inside the runtime", claim.task)
        _end(claim, session, *_fault(error))
    finally:
        if session is not None:
            session.close()


def _reason(error: M31AError) -> str:
    if isinstance(error, ProviderError):
        return f"provider_{error.kind}"
    return "unavailable" if isinstance(error, (Unavailable, Refused)) else "bad_settings"


def _fault(error: Exception) -> tuple[str, str]:
    """The reason and the detail of what nobody expected."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "disk_full", f"No space is left below {settings.M31A.DATA_DIR}."
    return "runtime_error", f"{type(error).__name__}: see the server's log."


def _end(claim: Claim, session: Session | None, reason: str, detail: str) -> None:
    last, rows = background.farewell(session, "task_failed")
    try:
        endings.fail(claim, reason, detail, last, rows)
    except StaleFence:
        _let_go(claim, session)


def _let_go(claim: Claim, session: Session | None) -> None:
    """The claim does not hold as it did: end the task if that was asked for, else just stop."""
    if tasks.peek(claim) == "cancel":
        last, rows = background.farewell(session, "cancelled")
        endings.acknowledge_cancel(claim, last, rows)


def _leave(claim: Claim, error: newer.Newer) -> None:
    """Nothing was done yet, and nothing is: a worker that knows the whole record will."""
    log.warning("%s", error)
    try:
        tasks.leave(claim, error.found)
    except StaleFence:
        _let_go(claim, None)


def _slice(session: Session) -> None:
    while not session.lost.is_set():
        if session.cancel.is_set():
            return _let_go(session.claim, session)
        if why := _due(session):
            background.end_all(session, why)
            return tasks.release(session.claim, why)
        background.report(session)
        if not _advance(session):
            return None
    return None


def _due(session: Session) -> str:
    """Why this hold ends before its next step; mostly it does not. A newer version may have
    written to another task of the run meanwhile."""
    if session.stop.is_set():
        return "stop"
    return "slice" if session.over or newer.of(session.run.pk) else ""


def _after_loss(session: Session) -> None:
    """Decide an interrupted action by what is there, then start from the last checkpoint."""
    recovering.end_cages(session)
    pending = session.state.pending
    if pending is not None and pending.started:
        outcome = recovering.recover(session, pending)
        if outcome is not None:
            _complete(session, pending, outcome)
    recovering.restore(session)


def _advance(session: Session) -> bool:
    """One step. False where the task is no longer held."""
    effect = machine.step(session.state)
    match effect:
        case machine.AskModel():
            return _within(session, lambda: proposing.ask_model(session))
        case machine.Decide(pending=pending):
            return _within(session, lambda: proposing.reconsider(session, pending))
        case machine.Refuse(pending=pending, reason=reason, by=by):
            proposing.refuse_pending(session, pending, reason, by)
        case machine.Answer(pending=pending):
            _complete(session, pending, Outcome(True, f"A person answers: {pending.comment}"))
        case machine.Recover(pending=pending):
            return _recover(session, pending)
        case machine.Fail(reason=reason, detail=detail):
            _end(session.claim, session, reason, detail)
            return False
        case machine.Wait():
            return False
    return True


def _within(session: Session, go: Callable[[], Pending | None]) -> bool:
    """Go on where the run's budgets allow it; a person may be asked first."""
    session.compact()
    match pausing.check(session):
        case machine.Fail(reason=reason, detail=detail):
            _end(session.claim, session, reason, detail)
            return False
        case False:
            return False
    return _run(session, go())


def _run(session: Session, pending: Pending | None) -> bool:
    """Do an action that has started; whether the task is still held afterwards."""
    if pending is None or not pending.started:
        return tasks.peek(session.claim) == "held" or session.cancel.is_set()
    with redactor().hiding(session.raw(pending) if pending.raw_digest else None):
        return _do(session, pending, session.action(pending))


def _do(session: Session, pending: Pending, action: Action) -> bool:
    if isinstance(action, Finish):
        return _finish(session, pending, action)
    if isinstance(action, AskHuman):
        _ask(session, pending, action)
        return False
    do = _verify if pending.kind == "verify" else execute
    faults.hit("step.before_effect")
    if tasks.peek(session.claim) == "lost":
        raise StaleFence("Another claim owns the task now.")
    outcome = do(session, pending, action)
    faults.hit("step.after_effect")
    _complete(session, pending, outcome)
    return True


def _verify(session: Session, pending: Pending, action: Action) -> Outcome:
    try:
        return verifying.verify(session, pending)
    except Refused as error:
        return Outcome(False, str(error))


def _recover(session: Session, pending: Pending) -> bool:
    outcome = recovering.recover(session, pending)
    if outcome is None:
        return _run(session, pending)
    _complete(session, pending, outcome)
    return True


def _ask(session: Session, pending: Pending, action: AskHuman) -> None:
    background.end_all(session, "waiting")
    question = ask_human(session, pending.action, action.question, pending.action)
    with tasks.held(session.claim) as hold:
        approvals.request(hold, question)


def _finish(session: Session, pending: Pending, action: Finish) -> bool:
    background.end_all(session, "finish")
    delivery = delivering.deliver(session, pending, action)
    if session.cancel.is_set() or delivery.stopped:
        return True
    rows = artifact_rows(session, pending.action, delivery.kept)
    if delivery.refusal:
        refusal = delivering.refused(pending, delivery)
        events = [refusal, *delivery.events]
        session.append([*events, *inputs.marks(session, events)], rows=rows)
        session.forget_previews([])
        proposing.forget_raw(pending)
        return True
    done = ActionCompleted(
        action=pending.action,
        kind=pending.kind,
        ok=True,
        observation=action.summary,
        artifacts=[fact.payload() for fact in delivery.kept],
    )
    endings.succeed(session.claim, action.summary, [done, *delivery.events], rows)
    return False


def _complete(session: Session, pending: Pending, outcome: Outcome) -> None:
    """Journal the end of an action with its projections."""
    event: Payload = outcome.instead or ActionCompleted(
        action=pending.action,
        kind=pending.kind,
        ok=outcome.ok,
        observation=outcome.observation,
        cut=outcome.cut,
        diff=outcome.diff,
        trace=outcome.trace,
        artifacts=[fact.payload() for fact in outcome.artifacts],
        spent=spending.of_trace(outcome.trace),
        like=likeness.of_text(outcome.observation),
    )
    events = [event, *outcome.events]
    events += inputs.marks(session, events)
    rows = artifact_rows(session, pending.action, outcome.artifacts)
    if outcome.trace is not None:
        rows.append(trace_row(session, pending.action, outcome.trace, 0))
    try:
        session.append(events, rows=[*rows, *job_rows(session, events)])
    except StaleFence:
        if tasks.peek(session.claim) != "cancel":
            raise
        session.absorb(events)
        events += background.farewell(session, "cancelled")[0]
        rows += job_rows(session, events)
        endings.acknowledge_cancel(session.claim, before=events, rows=rows)
        session.lost.set()
        return
    finally:
        session.forget_previews(events)
    proposing.forget_raw(pending)
