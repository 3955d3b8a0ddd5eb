"""The registry of fault points, and the plan that the environment gives.

`M31A_FAULTS="claim.after_commit=kill@3;renew.before=sleep:4"` with `M31A_ALLOW_FAULTS=1`.
Actions: `kill` (SIGKILL of this process), `stop` (SIGSTOP, until whoever watches sends SIGCONT),
`sleep:SECONDS`, `raise` (an `Injected` error), `dberror` (Django's OperationalError), `full` (no
space left on the device).
`@N` acts at the Nth hit of this process only. With `M31A_FAULTS_ONCE=FILE` a point acts once
over all processes: whoever creates `FILE.POINT` first.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.core.errors import BadInput

POINTS: dict[str, str] = {
    "submit.before_commit": "a run is written, not committed",
    "submit.after_commit": "a run is committed, nobody was told",
    "wake.before_send": "a task is ready, its message is not written",
    "claim.after_select": "a candidate was found, nothing written",
    "claim.before_commit": "a claim is written, not committed",
    "claim.after_commit": "a claim is committed, no step done",
    "renew.before": "a lease is about to be renewed",
    "step.before_effect": "an action is journaled as started, nothing done",
    "step.after_effect": "an action's effect is done, not journaled",
    "step.before_commit": "events of a step are written, not committed",
    "step.after_commit": "events of a step are committed",
    "blob.before_fsync": "half of a blob is in its temporary file",
    "blob.after_rename": "a blob has its name, nothing refers to it",
    "edit.before_rename": "an edit is staged, the file is unchanged",
    "edit.after_rename": "an edit is in place, not journaled",
    "complete.before_commit": "the end of a task is written, not committed",
    "complete.after_commit": "the end of a task is committed",
    "suspend.before_commit": "a question is written, not committed",
    "suspend.after_commit": "a question is committed, the task waits",
    "decide.before_commit": "an answer is written, not committed",
    "decide.after_commit": "an answer is committed, nobody was woken",
    "consume.after_commit": "an approval is consumed, its action not done",
    "cancel.before_commit": "a cancellation is written, not committed",
    "cancel.after_commit": "a cancellation is committed, the worker does not know",
    "reap.before": "a lease looks expired, nothing written",
    "reap.before_commit": "a task is taken back, not committed",
    "reap.after_commit": "a task was taken back",
    "expire.before_commit": "a question is expired, not committed",
    "expire.after_commit": "a question is expired, nobody was woken",
    "remind.before_commit": "a reminder is written, not committed",
    "remind.after_commit": "a reminder is committed",
    "deliver.after_commit_object": "the delivery's commit exists, not journaled",
}
"""Every point: its name, and what has happened when it is hit."""


ACTIONS = frozenset({"kill", "stop", "sleep", "raise", "dberror", "full"})


class Injected(Exception):
    """The error that the action `raise` raises."""


@dataclass(frozen=True)
class _Act:
    action: str
    seconds: float
    nth: int


def parse(text: str) -> dict[str, _Act]:
    """A plan from its text. Raises `BadInput` naming what is wrong."""
    plan = {}
    for part in filter(None, (item.strip() for item in text.split(";"))):
        point, _, rest = part.partition("=")
        what, _, nth = rest.partition("@")
        action, _, seconds = what.partition(":")
        if point not in POINTS or action not in ACTIONS:
            raise BadInput(
                f"M31A_FAULTS: {part!r} is no fault.", remedy="Use POINT=ACTION[:SECONDS][@N]."
            )
        try:
            plan[point] = _Act(action, float(seconds) if action == "sleep" else 0.0, int(nth or 0))
        except ValueError:
            raise BadInput(f"M31A_FAULTS: {part!r} has a number that is none.") from None
    return plan


def _from(environ: Mapping[str, str]) -> dict[str, _Act]:
    text = environ.get("M31A_FAULTS", "")
    if text and environ.get("M31A_ALLOW_FAULTS") != "1":
        raise BadInput(
            "M31A_FAULTS is set, but faults are not allowed.",
            remedy="Unset it; tests set M31A_ALLOW_FAULTS=1, too.",
        )
    return parse(text)


_plan = _from(os.environ)
_once = os.environ.get("M31A_FAULTS_ONCE", "")
_hits: dict[str, int] = {}


def hit(point: str) -> None:
    """Pass a fault point. Does nothing unless a plan names it."""
    if point in _plan:
        _act(point, _plan[point])


def commit(doing: str, when: str) -> None:
    """Pass the point before or after the commit of what is being done; without a name, nothing."""
    if doing:
        hit(f"{doing}.{when}_commit")


def _act(point: str, act: _Act) -> None:
    _hits[point] = _hits.get(point, 0) + 1
    if act.nth and _hits[point] != act.nth:
        return
    if _once and not _first(f"{_once}.{point}"):
        return
    if act.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif act.action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif act.action == "sleep":
        time.sleep(act.seconds)
    elif act.action == "dberror":
        from django.db import OperationalError

        raise OperationalError(f"injected at {point}")
    elif act.action == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), point)
    else:
        raise Injected(point)


def _first(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True
