"""Code of a later release, in a process of its own: it writes what this one has never heard of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.agent.session import Session
from runtime.journal.kind import Payload
from runtime.journal.kinds import REGISTRY, ActionCompleted, ActionStarted


def started_2() -> None:
    """`action.started` has a second version."""
    _raise(ActionStarted)


def completed_2() -> None:
    """`action.completed` has a second version."""
    _raise(ActionCompleted)


def _raise(kind: type[Payload]) -> None:
    kind.v, kind.older = 2, {1: lambda payload: payload}


def new_kind() -> None:
    """There is a kind of event more, written with each start of an action."""

    class ActionWeighed(Payload):
        """What an action weighs."""

        type = "action.weighed"

        grams: int

    REGISTRY[ActionWeighed.type] = ActionWeighed
    plain = Session.append

    def append(self: Session, payloads: Any, **more: Any) -> None:
        weighed = [ActionWeighed(grams=7)] if isinstance(payloads[-1], ActionStarted) else []
        plain(self, [*payloads, *weighed], **more)

    Session.append = append  # type: ignore[method-assign]


def by(code: Callable[[], None], stage: Callable[[], None]) -> Callable[[], None]:
    """A stage as a process of that code does it."""

    def job() -> None:
        code()
        stage()

    return job
