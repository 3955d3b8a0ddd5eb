"""Background jobs, as actions and in the journal.

Every start and every end is an event. Whatever takes the task out of this worker's hands ends its
jobs first; jobs of a worker that died are told to be lost, and nothing is started again.
"""

from __future__ import annotations

import logging

from runtime.core import actions as kinds
from runtime.core.commands import Exec
from runtime.core.errors import Refused
from runtime.journal.kind import Payload
from runtime.journal.kinds import JobEnded, JobStarted
from runtime.journal.statements import Row
from runtime.policy.authorised import Authorised

from .commands import standing
from .jobs import MAX_LIVE, MAX_SECONDS, Job
from .keeping import Kept, keep_output
from .outcome import Outcome, observable, trace_of
from .projections import job_rows
from .session import Session
from .spending import of_trace
from .state import JobFact, Pending

log = logging.getLogger(__name__)
SOON = 0.25
"""Seconds in which a program that cannot run at all is seen to end."""
MOST = 12_000
"""Characters of output in one observation."""
_WORDS = {
    "exited": "ended by itself",
    "timed_out": f"was ended after {MAX_SECONDS:g} seconds",
    "limit": "was ended at a limit",
    "failed": "was not executed",
    "stopped": "was stopped",
    "verify": "was ended before the verification",
    "finish": "was ended before the delivery",
    "rules": "was ended, for rules deny other paths now",
    "waiting": "was ended, for the task waited for a person",
    "slice": "was ended, for the worker gave the task back",
    "stop": "was ended, for the worker was stopped",
    "cancelled": "was ended with the run",
    "task_failed": "was ended with the task",
    "lost": "is lost: its worker died; nothing was started again",
}


def start(
    session: Session, pending: Pending, action: kinds.StartJob, command: Authorised[Exec]
) -> Outcome:
    """Start a program in the background. Raises `Refused` where too many run."""
    live = session.jobs.live()
    if len(live) >= MAX_LIVE:
        names = ", ".join(job.id for job in live)
        raise Refused(
            f"{len(live)} jobs run already ({names}); {MAX_LIVE} may run at a time.",
            remedy="Stop one with stop_job first.",
        )
    job = Job(
        f"j{len(session.state.jobs) + 1}",
        pending.action,
        action.program,
        len(action.args or ()),
        pending.hosts,
    )
    session.jobs.start(session.walls.cage(), command, job)
    outcome = Outcome(True, "", events=[_started(job)])
    if job.ended.wait(SOON):
        outcome.ok = job.how() == "exited"
        outcome.events.append(_ended(session, job, ""))
    outcome.observation = _told(session, job) + session.walls.note
    return outcome


def output(session: Session, pending: Pending, action: kinds.JobOutput) -> Outcome:
    """What a job has printed since the model asked last, and how it stands."""
    job = session.jobs.get(action.job)
    if session.jobs.live():
        session.walls.cage()  # ends those that rules would confine otherwise by now
    if job is not None:
        return Outcome(True, _told(session, job))
    fact = _fact(session, action.job)
    said = f"[{fact.id} {_WORDS.get(fact.reason, fact.reason)}; {fact.detail}]"
    if fact.artifact:
        said += f"\n[its output, {fact.characters} characters, is artifact {fact.artifact}]"
    return Outcome(True, said)


def stop(session: Session, pending: Pending, action: kinds.StopJob) -> Outcome:
    """End a job. One that has ended already stays as it is."""
    job = session.jobs.get(action.job)
    if job is None:
        return output(session, pending, kinds.JobOutput(kind="job_output", job=action.job))
    job.end("stopped")
    session.jobs.wait(job)
    return Outcome(True, _told(session, job), events=[*_unreported(session, "")])


def report(session: Session) -> None:
    """Journal the ends that came by themselves."""
    _append(session, _unreported(session, "stop"))


def end_all(session: Session, reason: str) -> list[str]:
    """End every job and journal that; the ids of those that lived. Raises `StaleFence`."""
    live = [job.id for job in session.jobs.live()]
    session.jobs.end(reason)
    _append(session, _unreported(session, reason))
    return live


def farewell(session: Session | None, reason: str) -> tuple[list[Payload], list[Row]]:
    """End every job: the events that go with the end of the task, and their rows."""
    if session is None:
        return [], []
    session.jobs.end(reason)
    events: list[Payload] = [*_unreported(session, reason)]
    return events, job_rows(session, events)


def note_lost(session: Session) -> None:
    """Journal the jobs of earlier holds of which no end is known."""
    lost = [
        JobEnded(action=fact.action, job=fact.id, reason="lost", detail="nobody saw its end")
        for fact in session.state.jobs
        if not fact.reason and session.jobs.get(fact.id) is None
    ]
    _append(session, lost)


def _append(session: Session, events: list[JobEnded]) -> None:
    if events:
        session.append(events, rows=job_rows(session, events))
        session.forget_previews(events)


def _unreported(session: Session, reason: str) -> list[JobEnded]:
    """The end of each job that has ended, and whose end the journal does not hold yet."""
    open_ = {fact.id for fact in session.state.jobs if not fact.reason}
    return [_ended(session, job, reason) for job in session.jobs.ended() if job.id in open_]


def _started(job: Job) -> JobStarted:
    return JobStarted(action=job.action, job=job.id, program=job.program, argument_count=job.count)


def _ended(session: Session, job: Job, reason: str) -> JobEnded:
    """`reason` is what made the worker interrupt it, if that is what ended it."""
    how, result, text = job.how(), job.result, job.whole()
    kept = _keep(session, job, text)
    trace = trace_of(job.program, job.count, result) if result else None
    return JobEnded(
        action=job.action,
        job=job.id,
        reason=(reason or "stop") if how == "interrupted" else how,
        detail=observable(_standing(job))[0],
        characters=job.log.total,
        trace=trace,
        spent=of_trace(trace, waited=False),
        artifacts=[fact.payload() for fact in kept.facts] if text else [],
    )


def _keep(session: Session, job: Job, text: str) -> Kept:
    """The output as an artifact. A disk that is full keeps no task from its end: how the job ended
    is journaled all the same, without it."""
    try:
        return keep_output(session, text, f"output of {job.id}, {job.program}", "output")
    except OSError as error:
        log.exception("The output of %s of run %s cannot be stored.", job.id, session.run.pk)
        return Kept([], f"[the whole is not kept: {error.strerror}]\n")


def _standing(job: Job) -> str:
    if job.result is None:
        return job.failure or "it did not end in time"
    return standing(job.result).strip("[]")


def _told(session: Session, job: Job) -> str:
    """How a job stands, with what is new of its output."""
    over = job.ended.is_set()
    piece = job.more(MOST)
    if over:
        how = f"[{job.id} {_WORDS.get(job.how(), 'was interrupted')}"
        how += f"; {_standing(job)}"
    else:
        how = f"[{job.id} runs since {job.seconds:.1f} s, at most {MAX_SECONDS:g}"
    how += f"; {piece.total} characters so far]" if not over else f"; {piece.total} characters]"
    lines = [how]
    if piece.lost:
        lines.append(f"[… {piece.lost} characters before this are gone …]")
    if piece.text:
        lines.append(f"[characters {piece.start + 1} to {piece.end}]")
        lines.append(piece.text.removesuffix("\n"))
    else:
        lines.append("[nothing new]")
    if piece.end < piece.total:
        lines.append(f"[… {piece.total - piece.end} more: ask again …]")
    return observable("\n".join(lines) + "\n")[0]


def _fact(session: Session, job: str) -> JobFact:
    for fact in session.state.jobs:
        if fact.id == job:
            return fact
    known = ", ".join(fact.id for fact in session.state.jobs) or "none"
    raise Refused(f"There is no job {job!r}; known are {known}.")
