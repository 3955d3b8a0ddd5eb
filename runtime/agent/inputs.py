"""What the work does to its own proof: files that the verification runs are watched.

Such a change is allowed. The run is marked, and a person looks before it is delivered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runtime.gating import Subject
from runtime.journal.kind import Payload
from runtime.journal.kinds import CheckpointCreated, VerificationInputsChanged
from runtime.policy.patterns import covers
from runtime.workspaces.inputs import verification_inputs

from .preparing import refuse_finish
from .session import Session
from .state import State


def watched(state: State, paths: Sequence[str]) -> list[str]:
    """Those of some files that the verification runs, or that steer it."""
    patterns = verification_inputs(state.verification)
    return [path for path in paths if any(covers(pattern, path) for pattern in patterns)]


def marks(state: State, events: Sequence[Payload]) -> list[Payload]:
    """The mark that checkpoints among events call for, if they change what none before did."""
    marked = set(state.inputs_changed)
    made: list[Payload] = []
    for event in events:
        if isinstance(event, CheckpointCreated):
            new = sorted(set(watched(state, event.files)) - marked)
            marked.update(new)
            if new:
                made.append(VerificationInputsChanged(action=event.action, paths=new))
    return made


def judged(session: Session, body: dict[str, Any]) -> Subject:
    """On whose behalf the gate is asked about an action. Of a `finish` that the record does not
    refuse anyway, it knows which of the watched files would be delivered changed."""
    state = session.state
    if body["kind"] != "finish" or not state.inputs_changed or refuse_finish(state):
        return session.subject
    return replace(session.subject, changed_inputs=tuple(delivered(session)))


def delivered(session: Session) -> list[str]:
    """Watched files that are not as they were where the run began."""
    state = session.state
    changed = session.space.changed_files(state.base_tree, state.tree)
    return watched(state, [path for _, path in changed])
