"""Whether the model goes round in a circle: looked at after each step, over a bounded window. Pure.

A step is an action, what came of it, and the tree that was there after. It is new if no step within
the window was like it; running the same test again after an edit is new, for the tree is another.
The ladder: steps that are not new are counted; at `WARN` the model is told; at `STOP` the task ends.
A circle of several steps is found like one of a single step, for each of them comes again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

WINDOW = 48
"""Steps that are remembered."""
WARN_TIMES, WARN_IDLE = 3, 2
STOP_TIMES, STOP_IDLE = 4, 7
SAME_EDIT = 8
"""How often within the window an edit may be made that differs in blanks alone from others."""
PATIENCE = 3
"""How much longer the ladder is for actions that wait for something."""
WAITING = frozenset({"start_job", "job_output"})

Level = Literal["", "warn", "stop"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step as the detector sees it. `edit`: it was an edit that was made."""

    action: str
    result: str
    tree: str
    edit: bool = False


@dataclass(frozen=True, slots=True)
class Loops:
    """What is remembered. `idle` counts the last steps that were not new."""

    window: tuple[Step, ...] = ()
    idle: int = 0
    times: int = 0
    """How often the last step was taken within the window."""
    edits: int = 0
    """How often its edit was made within the window, whatever the tree was."""
    patient: bool = False
    """Whether the last step waits for something."""

    def after(self, step: Step, kind: str = "") -> Loops:
        """With one more step."""
        times = 1 + self.window.count(step)
        edits = 0
        if step.edit:
            edits = 1 + sum(one.edit and one.action == step.action for one in self.window)
        return replace(
            self,
            window=(*self.window, step)[-WINDOW:],
            idle=self.idle + 1 if times > 1 else 0,
            times=times,
            edits=edits,
            patient=kind in WAITING,
        )

    @property
    def level(self) -> Level:
        """Where on the ladder the last step stands."""
        factor = PATIENCE if self.patient else 1
        if self.times >= STOP_TIMES * factor and self.idle >= STOP_IDLE * factor:
            return "stop"
        if self.edits >= SAME_EDIT:
            return "stop"
        if self.times >= WARN_TIMES * factor and self.idle >= WARN_IDLE * factor:
            return "warn"
        return "warn" if self.edits >= SAME_EDIT // 2 else ""

    def told(self) -> str:
        """What the model is told; nothing where all is well."""
        if not self.level:
            return ""
        if self.edits >= SAME_EDIT // 2:
            return (
                f"You have made the same edit {self.edits} times; only blanks differ. Look at what "
                "it should achieve, and do something else."
            )
        return (
            f"You have taken the same step {self.times} times with the same result, and the last "
            f"{self.idle} steps brought nothing new. Try another way, ask a person, or finish. "
            "If it goes on like this, the runtime ends the task."
        )


NO_LOOPS = Loops()
"""Before the first step."""
