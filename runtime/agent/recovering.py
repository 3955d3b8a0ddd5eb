"""After a worker died between `action.started` and the action's end.

Reads are done again, and so is what only the run's own git directory holds. Edits are decided by
the content of the file: it is what it was before, or what it should be after, or nobody knows.
Whatever has effects elsewhere is never done twice.
"""

from __future__ import annotations

from runtime import artifacts
from runtime.core.actions import GitCommit, ReplaceText, RunTool, WriteFile
from runtime.core.errors import Refused
from runtime.journal.kinds import ActionOutcomeUnknown, WorktreeRestored
from runtime.sandbox import end_leftovers
from runtime.workspaces import verbs
from runtime.workspaces.paths import written

from .outcome import Outcome
from .projections import artifact_rows
from .session import Session
from .state import Pending
from .trees import take

AGAIN = frozenset(
    {
        "read_file",
        "list_files",
        "glob",
        "grep",
        "git_status",
        "git_diff",
        "git_log",
        "git_show",
        "read_artifact",
        "create_artifact",
        "git_commit",
        "ask_human",
        "finish",
    }
)


MAX_ENDED = 10
"""Holds before this one whose cages are looked for; older ones were ended by those between."""


def end_cages(session: Session) -> None:
    """End what commands of earlier holds may still do: their worker is gone."""
    task, fence = session.claim.task, session.claim.fence
    for earlier in range(max(1, fence - MAX_ENDED), fence):
        end_leftovers(f"{task}.{earlier}")


def recover(session: Session, pending: Pending) -> Outcome | None:
    """What is known of an interrupted action; none where it is to be done (again)."""
    if pending.kind in AGAIN:
        return None
    if pending.raw_digest is not None and not session.sealed(pending):
        return _unknown(pending, "it was interrupted, and its secret form is gone")
    action = session.action(pending)
    if isinstance(action, RunTool) and _commits(action):
        return None
    if isinstance(action, (ReplaceText, WriteFile)) and pending.path is not None:
        return _edit(session, pending, pending.path)
    return _unknown(pending, "it was interrupted")


def _commits(action: RunTool) -> bool:
    """Whether the server does the command itself, with no effect beyond the run's branch."""
    try:
        return isinstance(verbs.server_verb(action), (GitCommit, str))
    except Refused:
        return True


def _edit(session: Session, pending: Pending, path: str) -> Outcome | None:
    try:
        current = session.editor.current_sha(path)
    except Refused as error:
        return _unknown(pending, f"the file cannot be read now: {error}")
    if current == pending.before and pending.before != pending.after:
        return None
    if current != pending.after:
        return _unknown(pending, f"{path} is neither as before nor as after the edit")
    try:
        moved = take(session, pending.action, session.state.left_out - {written(path)})
    except Refused as error:
        return _unknown(pending, f"{path} was changed, but the files are no tree now: {error}")
    said = f"{path} changed; the edit was complete before an interruption."
    return Outcome(True, said, events=[moved] if moved else [])


def _unknown(pending: Pending, reason: str) -> Outcome:
    """The model is told, the debt stays, and nothing is repeated."""
    event = ActionOutcomeUnknown(
        action=pending.action,
        kind=pending.kind,
        reason=f"The outcome is unknown: {reason}. Look before you repeat it.",
    )
    return Outcome(False, event.reason, instead=event)


def restore(session: Session) -> None:
    """Bring the files back to the last checkpoint; what was there instead is kept as a patch."""
    patch = session.space.restore(session.cage, session.state.commit)
    session.settle()
    left = None
    if patch:
        left = artifacts.keep_text(patch, "left-behind.patch", "patch")
    event = WorktreeRestored(commit=session.state.commit, left=left.payload() if left else None)
    session.append([event], rows=artifact_rows(session, "", [left] if left else []))
