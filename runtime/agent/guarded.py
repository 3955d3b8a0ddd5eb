"""Files that the gate asks about before an edit, changed by what it could not see through.

An archive is unpacked, a directory copied, a script run: no argument names `.github/workflows`.
So such files are looked for where every change is seen, in the trees of the checkpoints; and so are
those of which rules say that they are not simply changed.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from typing import Any

from runtime.core.digests import sha256
from runtime.gating import Ruled
from runtime.journal.kinds import CheckpointCreated
from runtime.policy.guarding import guarded
from runtime.policy.reading import COMMANDS
from runtime.workspaces.edit import state as told
from runtime.workspaces.paths import unwritten, written

from .session import Session
from .state import EDITS, Pending

_NO_FILE = "no file"
"""A link, a folder or another repository: no edit makes one."""


def unseen(session: Session, checkpoint: CheckpointCreated) -> set[str]:
    """Guarded files of a checkpoint that are not what an edit said that it would make of them:
    the gate was asked about each edit, and about nothing else that changed meanwhile."""
    ruled = session.ruled() if checkpoint.files else None
    found = {
        path
        for path in checkpoint.files
        if guarded(unwritten(path)) or (ruled and _weight(session, ruled, checkpoint.tree, path))
    }
    pending = session.state.pending
    if found and pending is not None and pending.action == checkpoint.action:
        found -= set(_as_edited(session, pending, checkpoint.tree, found))
    return found


def _as_edited(session: Session, pending: Pending, tree: str, of: set[str]) -> Iterator[str]:
    """Those whose edit began at the last tree and ended in this one."""
    if pending.kind not in EDITS:
        return
    for path, before, after in _edits(session, pending):
        from_last = before == _state(session, session.state.tree, path)
        if written(path) in of and from_last and after == _state(session, tree, path):
            yield written(path)


def _edits(session: Session, pending: Pending) -> Iterator[tuple[str, str, str]]:
    """Each path of an edit with its state before and after."""
    if pending.path is not None:
        mode = _mode(session, session.state.tree, pending.path)
        yield pending.path, told(pending.before, mode), told(pending.after, mode)
    yield from ((path, _plain(before), _plain(after)) for path, before, after in pending.files)


def _state(session: Session, tree: str, path: str) -> str:
    """What a tree has at a path, in the words of the record."""
    objects, names = session.space.repository.objects, tuple(path.split("/"))
    if objects.entry(tree, names) is None:
        return ""
    content = objects.blob(tree, names)
    return _NO_FILE if content is None else told(sha256(content), _mode(session, tree, path))


def _mode(session: Session, tree: str, path: str) -> int:
    """The permission bits of a file in a tree, as git knows them; of a new one those it gets."""
    entry = session.space.repository.objects.entry(tree, tuple(path.split("/")))
    return 0o755 if entry is not None and stat.S_IMODE(entry[0]) & 0o100 else 0o644


def _plain(state: str) -> str:
    """A state with the permission bits that git knows."""
    mode, _, digest = state.partition(" ")
    return told(digest, 0o755 if int(mode, 8) & 0o100 else 0o644) if digest else ""


def handed_over(session: Session, body: dict[str, Any]) -> str:
    """The tree that an action may take out of the worktree: a delivery the run's, a push the last
    commit's. A command may be a push, as only the gate can tell. "": it takes none."""
    if body["kind"] == "finish":
        return session.state.tree
    if body["kind"] == "git_push" or body["kind"] in COMMANDS:
        return session.space.repository.objects.tree_of(session.state.head)
    return ""


def committed(session: Session, body: dict[str, Any]) -> str:
    """The tree that an action may make a commit of, as `handed_over`."""
    commits = body["kind"] == "git_commit" or body["kind"] in COMMANDS
    return session.state.tree if commits else ""


def delivered(session: Session, tree: str) -> list[str]:
    """Such files that a tree holds otherwise than where the run began, those first about which
    rules say most. What no task may change counts, however it came: the rule may be younger."""
    marked, ruled = session.state.guarded_changed, session.ruled()
    if not tree or not (marked or (ruled and ruled.binding)):
        return []
    changed = session.space.changed_files(session.state.base_tree, tree)
    found = [
        path for _, path in changed if path in marked or (ruled and ruled.forbids(unwritten(path)))
    ]
    if ruled is None:
        return found
    return sorted(found, key=lambda path: -_weight(session, ruled, tree, path))


def _weight(session: Session, ruled: Ruled, tree: str, path: str) -> int:
    names = tuple(unwritten(path).split("/"))
    removed = session.space.repository.objects.entry(tree, names) is None
    return ruled.weight(unwritten(path), removed=removed)
