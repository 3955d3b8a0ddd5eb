"""The tree of a run, taken when something may have touched it."""

from __future__ import annotations

from runtime.journal.kinds import CheckpointCreated

from .session import Session


def take(session: Session, action: str, left_out: frozenset[str]) -> CheckpointCreated | None:
    """A checkpoint, if the tree is not the last one known; the worktree as it is now is noted.

    Raises `Refused` naming a nested repository or what git cannot take in.
    """
    state, space = session.state, session.space
    space.renew_links()
    point = space.checkpoint(session.cage, state.commit, action, left_out=left_out)
    session.settle()
    if point.tree == state.tree:
        return None
    files = [path for _, path in space.changed_files(state.tree, point.tree)]
    return CheckpointCreated(tree=point.tree, commit=point.commit, action=action, files=files)


def take_if_touched(session: Session, action: str) -> CheckpointCreated | None:
    """Like `take`, but without any process where no file was touched since the last look."""
    if not session.space.changed(session.seen):
        return None
    return take(session, action, session.state.left_out)
