"""Doing what was allowed. One function per kind of action; each returns an `Outcome`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import artifacts
from runtime.core import actions as kinds
from runtime.core.actions import Action
from runtime.core.commands import Exec
from runtime.core.errors import M31AError, Refused, Unavailable
from runtime.journal.kinds import CheckpointCreated
from runtime.models import Artifact
from runtime.policy.authorised import Authorised, by_approval, by_gate
from runtime.workspaces import Edit, verbs
from runtime.workspaces.diffs import of_edit, of_edits
from runtime.workspaces.paths import written

from . import background, publishing
from .commands import run_command, run_shown
from .keeping import keep_given, keep_output
from .outcome import Outcome, bounded, observable
from .session import Session
from .state import Pending
from .trees import require_room, take, take_if_touched


def execute(session: Session, pending: Pending, action: Action) -> Outcome:
    """Do an action that is journaled as started. A refusal of the workspace is an outcome."""
    try:
        return _DOERS[type(action)](session, pending, action)
    except Refused as error:
        return Outcome(False, str(error))


def authorised(pending: Pending, subject: Any) -> Authorised[Any]:
    """The permission of a pending action, for the thing that is done with it."""
    if pending.answer == "approved":
        return by_approval(subject, pending.approval)
    return by_gate(subject, pending.action)


def _read_file(session: Session, pending: Pending, action: kinds.ReadFile) -> Outcome:
    page = session.editor.read_lines(action.path, action.offset, action.limit)
    return _seen(session, pending, page.text(), action.path)


def _list_files(session: Session, pending: Pending, action: kinds.ListFiles) -> Outcome:
    return _seen(session, pending, session.editor.list_dir(action.path).text(), "listing")


def _glob(session: Session, pending: Pending, action: kinds.Glob) -> Outcome:
    return _seen(session, pending, session.editor.glob(action.pattern, action.path).text(), "glob")


def _grep(session: Session, pending: Pending, action: kinds.Grep) -> Outcome:
    found = session.editor.grep(action.pattern, action.path, bool(action.ignore_case))
    return _seen(session, pending, found.text(), "grep")


def _seen(session: Session, pending: Pending, text: str, name: str) -> Outcome:
    """An observation, bounded; what does not fit is an artifact."""
    shown, cut = observable(text)
    if not cut:
        return Outcome(True, shown)
    kept = keep_output(session, text, f"{pending.kind} {name}", "observation")
    return Outcome(True, shown + kept.note, cut=cut, artifacts=kept.facts)


def _edit(session: Session, pending: Pending, action: Any) -> Outcome:
    permission = authorised(pending, action)
    require_room(session)
    planned = session.editor.plan(action)
    if planned.before_sha != pending.before or planned.after_sha != pending.after:
        raise Refused(
            f"{planned.path} was changed meanwhile; nothing was written.",
            remedy="Read it again and repeat the edit.",
        )
    known = not session.space.changed(session.seen)
    if isinstance(action, kinds.ReplaceText):
        edit = session.editor.replace(permission, planned)
    else:
        edit = session.editor.write(permission, planned)
    outcome = Outcome(True, told([edit]), diff=of_edit(edit))
    _checkpoint_edits(session, pending, [edit], known, outcome)
    return outcome


def _patch(session: Session, pending: Pending, action: kinds.ApplyPatch) -> Outcome:
    permission = authorised(pending, action)
    planned = session.editor.plan_patch(action)
    if any(edit.after is not None for edit in planned.edits):
        require_room(session)
    files = tuple((edit.path, edit.state_before, edit.state_after) for edit in planned.edits)
    if files != pending.files:
        raise Refused(
            "A file of the patch was changed meanwhile; nothing was written.",
            remedy="Read the files again and repeat the patch.",
        )
    known = not session.space.changed(session.seen)
    done = session.editor.apply(permission, planned)
    outcome = Outcome(True, told(done.edits), diff=of_edits(done.edits))
    if done.moved:
        outcome.observation += f"\n[{done.moved} hunks stood at other lines than they said]"
    _checkpoint_edits(session, pending, done.edits, known, outcome)
    return outcome


def told(edits: Sequence[Edit]) -> str:
    """What was done to each file, one to a line."""
    sources = {edit.source for edit in edits}
    return "\n".join(_told(edit) for edit in edits if edit.path not in sources)


def _told(edit: Edit) -> str:
    if edit.after is None:
        return f"{edit.path} deleted."
    if edit.source:
        return f"{edit.source} renamed to {edit.path}: {edit.size} bytes."
    what = "created" if edit.before is None else "changed"
    return f"{edit.path} {what}: {edit.size} bytes."


def _checkpoint_edits(
    session: Session, pending: Pending, edits: Sequence[Edit], known: bool, outcome: Outcome
) -> None:
    """The tree after our own edits: by library where that is sure, else by git in the cage.

    `known`: before the edits the worktree was as its last checkpoint left it.
    """
    state, paths = session.state, [written(edit.path) for edit in edits]
    left_out = state.left_out - set(paths)
    changes = [(edit.path, edit.after, edit.mode) for edit in edits]
    point = None
    if known:
        point = session.space.quick_checkpoint(state.commit, changes, pending.action)
    if point is None:
        try:
            moved = take(session, pending.action, left_out)
        except Refused as error:
            # The files are written; what else is there cannot be a tree. Verify and finish refuse.
            outcome.observation += f"\n[no checkpoint: {error}]"
            return
        outcome.events += [moved] if moved else []
        return
    session.settle()
    if point.changed:
        outcome.events.append(
            CheckpointCreated(
                tree=point.tree,
                commit=point.commit,
                action=pending.action,
                files=paths,
            )
        )


def _artifact(session: Session, pending: Pending, action: kinds.CreateArtifact) -> Outcome:
    fact = keep_given(session, action.content, action.name)
    return Outcome(True, f"Kept as artifact {fact.sha256}.", artifacts=[fact])


def _read_artifact(session: Session, pending: Pending, action: kinds.ReadArtifact) -> Outcome:
    if not Artifact.objects.filter(run=session.run.pk, sha256=action.id).exists():
        raise Refused("This run has no artifact of that id.")
    try:
        data = artifacts.get(action.id)
    except M31AError as error:
        raise Refused(str(error)) from error
    shown, cut = bounded(data.decode("utf-8", "replace"))
    return Outcome(True, shown, cut=cut)


def _git_diff(session: Session, pending: Pending, action: kinds.GitDiff) -> Outcome:
    """Against the last commit, new files included: of two trees, so no process looks at files."""
    moved = take_if_touched(session, pending.action)
    tree = moved.tree if moved else session.state.tree
    try:
        patch = session.space.diff(session.state.head, tree, action.path)
        outcome = _seen(session, pending, patch or "(no difference)\n", "diff")
    except Unavailable as error:
        outcome = Outcome(False, f"{error.message} Ask for the difference of one path.")
    outcome.events += [moved] if moved else []
    return outcome


def _git(session: Session, pending: Pending, action: Any) -> Outcome:
    command = verbs.command(action)
    return run_shown(session, pending, authorised(pending, command))


def _command(session: Session, pending: Pending, action: Any) -> Outcome:
    require_room(session, getattr(action, "program", ""))
    return run_command(session, pending, action, lambda subject: authorised(pending, subject))


def _start_job(session: Session, pending: Pending, action: kinds.StartJob) -> Outcome:
    require_room(session)
    command = Exec(action.program, tuple(action.args or ()))
    return background.start(session, pending, action, authorised(pending, command))


_DOERS: dict[type[Action], Callable[[Session, Pending, Any], Outcome]] = {
    kinds.ReadFile: _read_file,
    kinds.ListFiles: _list_files,
    kinds.Glob: _glob,
    kinds.Grep: _grep,
    kinds.ReplaceText: _edit,
    kinds.WriteFile: _edit,
    kinds.ApplyPatch: _patch,
    kinds.RunTool: _command,
    kinds.RunShell: _command,
    kinds.GitStatus: _git,
    kinds.GitDiff: _git_diff,
    kinds.GitLog: _git,
    kinds.GitShow: _git,
    kinds.GitCommit: publishing.commit,
    kinds.GitPush: publishing.push,
    kinds.CreateArtifact: _artifact,
    kinds.ReadArtifact: _read_artifact,
    kinds.StartJob: _start_job,
    kinds.JobOutput: background.output,
    kinds.StopJob: background.stop,
}
"""Kinds with other ways: verify, finish and ask_human have modules of their own."""
