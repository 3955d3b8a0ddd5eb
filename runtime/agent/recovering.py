"""After a worker died between `action.started` and the action's end.

Reads are done again, and so is what only the run's own git directory holds. Edits are decided by
the content of the file: it is what it was before, or what it should be after, or nobody knows.
Whatever has effects elsewhere is never done twice.
"""

from __future__ import annotations

from runtime import artifacts
from runtime.core.actions import ApplyPatch, GitCommit, ReplaceText, RunTool, WriteFile
from runtime.core.errors import Refused
from runtime.journal.kinds import ActionOutcomeUnknown, WorktreeRestored
from runtime.sandbox import end_leftovers
from runtime.workspaces import verbs
from runtime.workspaces.paths import written

from .executing import authorised
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
        "job_output",
        "stop_job",
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
    if pending.raw_digest is not None and not session.sealed(pending):
        return _unknown(pending, "it was interrupted, and its secret form is gone")
    if pending.kind in AGAIN:
        return None
    action = session.action(pending)
    if isinstance(action, RunTool) and _commits(action):
        return None
    if isinstance(action, (ReplaceText, WriteFile)) and pending.path is not None:
        return _edit(session, pending, pending.path)
    if isinstance(action, ApplyPatch) and pending.files:
        return _patch(session, pending, action)
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


def _patch(session: Session, pending: Pending, action: ApplyPatch) -> Outcome | None:
    """Each file is as before or as after: the rest is done, so that all of it is there."""
    try:
        now = {path: session.editor.state(path) for path, _, _ in pending.files}
        if all(now[path] == before for path, before, _ in pending.files):
            return None
        done = {path for path, before, after in pending.files if now[path] == after}
        strange = [p for p, before, _ in pending.files if p not in done and now[p] != before]
        if strange:
            return _unknown(pending, f"{strange[0]} is neither as before nor as after the patch")
        rest = session.editor.plan_patch(action, done)
        wanted = {row for row in pending.files if row[0] not in done}
        if {(edit.path, edit.state_before, edit.state_after) for edit in rest.edits} != wanted:
            return _unknown(pending, "the rest of the patch would not come out as it was planned")
        session.editor.apply(authorised(pending, action), rest)
        left_out = session.state.left_out - {written(path) for path in now}
        moved = take(session, pending.action, left_out)
    except Refused as error:
        return _unknown(
            pending, f"the patch was under way, and its files cannot be had now: {error}"
        )
    said = "The patch is applied; it was completed after an interruption."
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
