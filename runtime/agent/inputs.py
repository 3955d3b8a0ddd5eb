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
from runtime.policy.patterns import covers
from runtime.workspaces.inputs import verification_inputs

from . import guarded
from .preparing import refuse_finish
from .session import Session
from .state import State


def watched(state: State, paths: Sequence[str]) -> list[str]:
    """Those of some files that the verification runs, or that steer it."""
    patterns = verification_inputs(state.verification)
    return [path for path in paths if any(covers(pattern, path) for pattern in patterns)]


def marks(session: Session, events: Sequence[Payload]) -> list[Payload]:
    """The marks that checkpoints among events call for, if they change what none before did."""
    state = session.state
    inputs, unseen = set(state.inputs_changed), set(state.guarded_changed)
    made: list[Payload] = []
    for event in events:
        if isinstance(event, CheckpointCreated):
            new = sorted(set(watched(state, event.files)) - inputs)
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
    if not (state.inputs_changed or state.guarded_changed) or (finishes and refuse_finish(state)):
        return session.subject
    tree = guarded.handed_over(session, body)
    if not tree:
        return session.subject
    return replace(
        session.subject,
        changed_inputs=tuple(delivered(session)) if finishes else (),
        changed_guarded=tuple(guarded.delivered(session, tree)),
    )


def delivered(session: Session) -> list[str]:
    """Files of the verification that are not as they were where the run began."""
    state = session.state
    if not state.inputs_changed:
        return []
    changed = session.space.changed_files(state.base_tree, state.tree)
    return watched(state, [path for _, path in changed])
