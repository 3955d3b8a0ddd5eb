"""What the work does to its own proof, and to what others obey: such files are watched.

A change of them is allowed. The run is marked, and a person looks before it is delivered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runtime.gating import Subject
from runtime.journal.kind import Payload
from runtime.journal.kinds import (
    CheckpointCreated,
    GuardedFilesChanged,
    VerificationInputsChanged,
)
from runtime.policy.patterns import together
from runtime.workspaces.inputs import (
    import_folders,
    is_known,
    module_of,
    verification_inputs,
)
from runtime.workspaces.installed import installed
from runtime.workspaces.paths import unwritten

from . import guarded
from .preparing import refuse_finish
from .session import Session


def watched(session: Session, paths: Sequence[str]) -> list[str]:
    """Those of some files that the verification runs, or that steer it."""
    named = together(verification_inputs(session.state.verification))
    stand_ins = _stand_ins(session, paths)
    return [path for path in paths if path in stand_ins or named.fullmatch(unwritten(path))]


def _stand_ins(session: Session, paths: Sequence[str]) -> set[str]:
    """Files that the verification would import in the place of a module that is installed, or of
    Python's own: of that name, where the repository had none of its own."""
    folders = import_folders(session.state.verification)
    modules = {path: module_of(unwritten(path), folders) for path in paths}
    new = _new(session, {module for module in modules.values() if module[1]})
    if not new:
        return set()
    there = installed(session.space.spec())
    return {
        path
        for path, module in modules.items()
        if module in new and (is_known(module[1]) or module[1] in there)
    }


def _new(session: Session, modules: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those (folder and name) that the repository did not have. Its folders are read once each,
    however many there are."""
    objects, base = session.space.repository.objects, session.state.base_tree
    found = set()
    for folder in {folder for folder, _ in modules}:
        above = () if folder == "." else tuple(folder.split("/"))
        had = objects.listing(base, above)
        for name in (name for place, name in modules if place == folder):
            package = (*above, name, "__init__.py")
            if f"{name}.py" not in had and not (name in had and objects.entry(base, package)):
                found.add((folder, name))
    return found


def marks(session: Session, events: Sequence[Payload]) -> list[Payload]:
    """The marks that checkpoints among events call for, if they change what none before did."""
    state = session.state
    inputs, unseen = set(state.inputs_changed), set(state.guarded_changed)
    made: list[Payload] = []
    for event in events:
        if isinstance(event, CheckpointCreated):
            new = sorted(set(watched(session, event.files)) - inputs)
            inputs.update(new)
            if new:
                made.append(VerificationInputsChanged(action=event.action, paths=new))
            new = sorted(guarded.unseen(session, event) - unseen)
            unseen.update(new)
            if new:
                made.append(GuardedFilesChanged(action=event.action, paths=new))
    return made


def judged(session: Session, body: dict[str, Any]) -> Subject:
    """On whose behalf the gate is asked about an action. Of a push, and of a `finish` that the
    record does not refuse anyway, it knows which of the watched files would go out changed."""
    state, finishes = session.state, body["kind"] == "finish"
    if finishes and refuse_finish(state):
        return session.subject
    tree, commit = guarded.handed_over(session, body), guarded.committed(session, body)
    if not (tree or commit):
        return session.subject
    ruled = session.ruled()
    if not (state.inputs_changed or state.guarded_changed or (ruled and ruled.binding)):
        return session.subject
    return replace(
        session.subject,
        changed_inputs=tuple(delivered(session)) if finishes else (),
        changed_guarded=tuple(guarded.delivered(session, tree)),
        changed_committed=tuple(guarded.delivered(session, commit)) if ruled else (),
    )


def delivered(session: Session) -> list[str]:
    """Files of the verification that are not as they were where the run began."""
    state = session.state
    if not state.inputs_changed:
        return []
    changed = session.space.changed_files(state.base_tree, state.tree)
    return watched(session, [path for _, path in changed])
