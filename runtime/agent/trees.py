"""The tree of a run, taken when something may have touched it, and what the worktree may hold."""

from __future__ import annotations

from runtime.journal.kinds import CheckpointCreated
from runtime.workspaces import usage
from runtime.workspaces.usage import Survey

from .session import Session

FREES = frozenset({"rm", "rmdir", "chmod"})
"""Programs that are run although the worktree holds more than it may, or nobody can tell."""


def take(
    session: Session, action: str, left_out: frozenset[str], looked: Survey | None = None
) -> CheckpointCreated | None:
    """A checkpoint, if the tree is not the last one known; the worktree as it is now is noted.

    Raises `Refused` naming a nested repository, what git cannot take in, or a bound that the
    worktree is over. `looked` is what a look has just found.
    """
    state, space = session.state, session.space
    usage.check(session.note(looked or space.survey()), space.bounds)
    space.renew_links()
    point = space.checkpoint(session.cage, state.commit, action, left_out=left_out)
    session.settle()
    if point.tree == state.tree:
        return None
    files = [path for _, path in space.changed_files(state.tree, point.tree)]
    return CheckpointCreated(tree=point.tree, commit=point.commit, action=action, files=files)


def take_if_touched(session: Session, action: str) -> CheckpointCreated | None:
    """Like `take`, but without any process where no file was touched since the last look."""
    looked = session.note(session.space.survey())
    if looked.fingerprint == session.seen:
        return None
    return take(session, action, session.state.left_out, looked)


def require_room(session: Session, program: str = "") -> None:
    """Raise `Refused` where the worktree held more than it may when it was looked at last, so that
    nothing more is written to the disk; what frees it is done all the same."""
    if program not in FREES:
        usage.check(session.looked or session.note(session.space.survey()), session.space.bounds)
