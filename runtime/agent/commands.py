"""Commands in the cage: run, observe, and see whether the tree changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from runtime.artifacts import ArtifactFact
from runtime.core.actions import GitCommit, GitPush, RunShell, RunTool
from runtime.core.commands import Command, Exec, Shell
from runtime.core.errors import BadInput, Refused
from runtime.journal.kinds import ActionOutcomeUnknown
from runtime.policy.authorised import Authorised
from runtime.runs import confining
from runtime.sandbox import Cage, Result, diagnosis
from runtime.secrets import redactor
from runtime.workspaces import verbs

from . import publishing
from .keeping import keep_output
from .outcome import Outcome, observable, trace_of
from .preview import Preview
from .session import Session
from .state import Pending
from .trees import take_if_touched

KEEP = 4 << 20
"""Bytes of output that are kept per stream for the artifact."""
OnOutput = Callable[[str, bytes], None]
LONG = 2000
"""Characters over which an output is an artifact although the model sees all of it."""


def run_command(
    session: Session,
    pending: Pending,
    action: RunTool | RunShell,
    permit: Callable[[Any], Authorised[Any]],
) -> Outcome:
    """A proposed command. Git that writes is done by the server, on the git directory."""
    if isinstance(action, RunShell):
        shell = Shell(action.script, action.cwd or ".")
        return _run(session, pending, permit(shell), "sh", 1, action.timeout, own=False)
    verb = verbs.server_verb(action)
    if isinstance(verb, GitCommit):
        return publishing.commit(session, pending, verb)
    if isinstance(verb, GitPush):
        return publishing.push(session, pending, verb)
    if isinstance(verb, str):
        return Outcome(True, verb)
    command = Exec(action.program, tuple(action.args or ()), action.cwd or ".")
    count = len(command.args)
    permitted = permit(command)
    outcome = _run(session, pending, permitted, action.program, count, action.timeout, own=False)
    if hint := verbs.hint(action, outcome.observation):
        outcome.observation += f"{hint}\n"
    return outcome


def run_shown(session: Session, pending: Pending, command: Authorised[Exec]) -> Outcome:
    """A reading git command: its output is the observation."""
    subject = command.subject
    return _run(session, pending, command, subject.program, len(subject.args), None, own=True)


def _run(
    session: Session,
    pending: Pending,
    command: Authorised[Command],
    program: str,
    count: int,
    timeout: int | None,
    *,
    own: bool,
) -> Outcome:
    """`own`: the words are the runtime's, and the gate has seen all that they can show."""
    try:
        cage = session.cage if own else session.walls.cage()
        with previewed(session, pending.action) as show:
            result = run_seen(session, cage, command, show, timeout, pending.hosts)
    except BadInput as error:
        raise Refused(error.message, remedy=error.remedy) from error
    if stopped(session, result):
        return unknown(pending)
    outcome = observed(session, program, count, result)
    outcome.observation += "" if own else session.walls.note
    try:
        if moved := take_if_touched(session, pending.action):
            outcome.events.append(moved)
    except Refused as error:
        # The command ran; what it left cannot be a tree. Verify and finish refuse for it, too.
        outcome.ok = False
        outcome.observation += f"[no checkpoint: {error}]\n"
    return outcome


def run_seen(
    session: Session,
    cage: Cage,
    command: Authorised[Command],
    show: OnOutput,
    timeout: int | None = None,
    hosts: Sequence[str] = (),
) -> Result:
    """Run a command in the foreground, within what is left of this hold. `hosts`: what it may reach.
    Raises as `Cage.run`."""
    result = cage.run(
        command,
        timeout=session.bounded(timeout),
        cancel=session.interrupt,
        on_output=show,
        keep=KEEP,
        hosts=hosts,
    )
    session.purse.took(result.duration_ms / 1000)
    if result.failure and result.failure.startswith(diagnosis.ITSELF):
        confining.look("worker", fresh=True)
    return result


@contextmanager
def previewed(session: Session, action: str) -> Iterator[OnOutput]:
    """Meanwhile the pages see what is printed for an action as it comes."""
    preview = Preview(session.run.pk, session.task.pk, action, redactor())

    def show(stream: str, data: bytes) -> None:
        preview.take(stream, data)

    try:
        yield show
    finally:
        preview.close()
        if preview.shown:
            session.previews.add(action)


def observed(session: Session, program: str, count: int, result: Result) -> Outcome:
    """Result of a command as the model sees it, with its trace and its output as an artifact."""
    output = "".join(
        part if part.endswith("\n") else f"{part}\n"
        for part in (result.text("stdout"), result.text("stderr"))
        if part
    )
    shown, cut = observable(output)
    facts: list[ArtifactFact] = []
    if cut or len(output) > LONG or (output and session.workspace.retention == "full"):
        kept = keep_output(session, output, f"output of {program}", "output")
        facts, shown = kept.facts, shown + (kept.note if cut else "")
    return Outcome(
        result.ok,
        f"{standing(result)}\n{shown}",
        cut=cut,
        trace=trace_of(program, count, result),
        artifacts=facts,
    )


def stopped(session: Session, result: Result) -> bool:
    """Whether the worker's own end cut the command short, not a wish to cancel the run."""
    return result.cancelled and not session.cancel.is_set()


def unknown(pending: Pending) -> Outcome:
    """A command that the worker's end cut short: it is not repeated, and the model is told."""
    event = ActionOutcomeUnknown(
        action=pending.action,
        kind=pending.kind,
        reason="The outcome is unknown: the worker was stopped while it ran. "
        "Look before you repeat it.",
    )
    return Outcome(False, event.reason, instead=event)


def standing(result: Result) -> str:
    """How a command ended, in one line."""
    if result.failure:
        return f"[not executed: {result.failure}]"
    if result.cancelled:
        return "[cancelled]"
    if result.timed_out:
        return f"[timed out after {result.duration_ms} ms]"
    if result.limit and result.status is None:
        return f"[ended at the limit {result.limit}]"
    if result.signal is not None:
        return f"[ended by signal {result.signal}]"
    reached = f"; it had reached the limit {result.limit}" if result.limit else ""
    return f"[exit status {result.status}{reached}]"
