"""The operator's verification: exactly as configured, in the same cage, bound to a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from runtime.artifacts import ArtifactFact
from runtime.core.commands import Exec
from runtime.core.digests import sha256
from runtime.journal.kind import Payload
from runtime.journal.kinds import CheckpointCreated, VerificationFailed, VerificationPassed
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, Result
from runtime.secrets import redactor
from runtime.workspaces.reports import unreported

from . import background
from .commands import previewed, run_seen, standing, stopped, unknown
from .inputs import marks
from .keeping import keep_output
from .outcome import Outcome, bounded
from .session import Session
from .spending import of_results
from .state import Pending
from .trees import take, take_if_touched

PER_COMMAND = 6000
"""Characters of each command's output that the model sees."""


class Evidence(NamedTuple):
    """What the commands did. `reason` is empty where all of them passed."""

    commands: list[dict[str, Any]]
    text: str
    reason: str
    outputs: list[ArtifactFact]
    stopped: bool = False
    """The worker's own end cut it short."""
    spent: dict[str, int] | None = None


class Aftermath(NamedTuple):
    """What the commands left in the worktree: tracked files that they changed, with the new
    tree, and new files that they made."""

    moved: CheckpointCreated | None
    touched: list[str]
    made: list[str]


def verify(session: Session, pending: Pending) -> Outcome:
    """Run the verification on the present tree. Only a pass of all commands closes the debt.

    Raises `Refused` naming a nested repository or what git cannot take in.
    """
    jobs = background.end_all(session, "verify")
    session.space.check_nested()
    if before := take_if_touched(session, pending.action):
        session.append([before, *marks(session, [before])])
    tree = session.state.tree
    session.space.renew_links()
    evidence = run_all(session, session.walls.cage(), pending.action)
    after = _look_after(session, pending, tree)
    if evidence.stopped:
        return _cut_short(pending, tree, evidence, after)
    reason = evidence.reason
    if after.touched and not reason:
        reason = f"The verification changed tracked files: {', '.join(after.touched[:10])}"
    ended = _ended(pending, tree, evidence, reason, after.made)
    said = f"{'FAILED: ' + reason if reason else 'PASSED'}\n{evidence.text}"
    if jobs:
        said += f"\nBackground jobs were ended before: {', '.join(jobs)}"
    if session.walls.note:
        said += f"\n{session.walls.note}"
    if after.made:
        said += (
            f"\nNew files that it made are left out of the delivery: {', '.join(after.made[:20])}"
        )
    shown, cut = bounded(said)
    events: list[Payload] = [after.moved, ended] if after.moved else [ended]
    return Outcome(not reason, shown, cut=cut, artifacts=evidence.outputs, events=events)


def _cut_short(pending: Pending, tree: str, evidence: Evidence, after: Aftermath) -> Outcome:
    """The worker's end stopped it: nobody knows; what it made so far is left out all the same."""
    outcome = unknown(pending)
    outcome.artifacts = evidence.outputs
    ended = _ended(pending, tree, evidence, "The worker was stopped.", after.made)
    outcome.events = [after.moved, ended] if after.moved else [ended]
    return outcome


def _ended(
    pending: Pending, tree: str, evidence: Evidence, reason: str, made: list[str]
) -> Payload:
    if reason:
        return VerificationFailed(
            action=pending.action,
            tree=tree,
            commands=evidence.commands,
            reason=reason,
            left_out=made,
            spent=evidence.spent,
        )
    return VerificationPassed(
        action=pending.action,
        tree=tree,
        commands=evidence.commands,
        left_out=made,
        spent=evidence.spent,
    )


def run_all(session: Session, cage: Cage, action: str) -> Evidence:
    """The configured commands in order, until one does not pass. `action` asked for them."""
    commands: list[dict[str, Any]] = []
    texts: list[str] = []
    outputs: list[ArtifactFact] = []
    results: list[Result] = []
    reason, cut_short = "", False
    with previewed(session, action) as show:
        for argv in session.state.verification:
            command = by_operator(Exec(argv[0], tuple(argv[1:])), "verification")
            show("stdout", f"$ {' '.join(argv)}\n".encode("utf-8", "replace"))
            result = run_seen(session, cage, command, show)
            results.append(result)
            output = redactor().text(result.text("stdout") + result.text("stderr"))
            texts.append(
                f"$ {' '.join(argv)}\n{standing(result)}\n{bounded(output, PER_COMMAND)[0]}"
            )
            kept = _keep(session, argv, output)
            outputs += kept
            commands.append(_entry(argv, result, output, kept))
            silent = unreported(argv, output) if result.ok else ""
            if silent:
                reason = f"`{' '.join(argv)}`: {silent} ended well, but without its report"
                break
            if not result.ok:
                reason = f"`{' '.join(argv)}`: {standing(result)}"
                cut_short = stopped(session, result)
                break
    spent = of_results(results)
    return Evidence(commands, "\n".join(texts), reason, outputs, cut_short, spent)


def _keep(session: Session, argv: Sequence[str], output: str) -> list[ArtifactFact]:
    if not output:
        return []
    return keep_output(session, output, f"verification {' '.join(argv)}", "evidence").facts


def _entry(
    argv: Sequence[str], result: Result, output: str, kept: Sequence[ArtifactFact]
) -> dict[str, Any]:
    """What one command did, for the record."""
    entry: dict[str, Any] = {
        "argv": list(argv),
        "status": result.status,
        "signal": result.signal,
        "timed_out": result.timed_out,
        "duration_ms": result.duration_ms,
        "output_sha256": sha256(output.encode()),
        "output_size": result.stdout_bytes + result.stderr_bytes,
    }
    if kept:
        entry["output"] = kept[0].sha256
    return entry


def _look_after(session: Session, pending: Pending, tree: str) -> Aftermath:
    space, state = session.space, session.state
    if not space.changed(session.seen):
        return Aftermath(None, [], [])
    moved = take(session, pending.action, state.left_out)
    if moved is None:
        return Aftermath(None, [], [])
    changes = space.changed_files(tree, moved.tree)
    touched = [path for letter, path in changes if letter != "A"]
    made = [path for letter, path in changes if letter == "A"]
    if not made:
        return Aftermath(moved, touched, [])
    kept = take(session, pending.action, state.left_out | set(made))
    return Aftermath(kept, touched, made)
