"""Rules about paths that hold for commands whatever these do: the cage keeps them, not the gate.

Of rules that deny a path to every tool and program, the cage hides what may not be read and makes
fast what may not be written. Pure: which path is taken, and how.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from . import gitignore
from .decision import Decision
from .reading import CHANGES, Verb
from .rules import EVERY, Circumstances, Rule, RuleLayer

_COMMANDS = frozenset({"run_tool", "run_shell"})
"""Who names both of them names every way to run a command: a job is kindred."""
_ALL = "/**"


class Bond(StrEnum):
    """What is done to a path in the cage."""

    HIDE = "hide"
    FIX = "fix"
    """It can be read, and not changed."""
    KEEP = "keep"
    """It can be read and changed, and neither removed nor moved."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The rules that bind the commands of a task now. `root`: where these see the worktree."""

    root: str
    rules: tuple[Rule, ...]

    @property
    def reads(self) -> bool:
        """Whether there is a path that commands may not read."""
        return any(map(_forbids_reading, self.rules))

    def names(self) -> str:
        """The rules, for people and the model."""
        return ", ".join(dict.fromkeys(rule.id for rule in self.rules))

    def takes(self, path: str, *, folder: bool) -> Bond | None:
        """What is done to a path of the worktree; a folder only if a rule takes all of it."""
        taken = [rule for rule in self.rules if self._takes(rule, path, folder)]
        if any(map(_forbids_reading, taken)):
            return Bond.HIDE
        if any(not rule.verbs or Verb.WRITE in rule.verbs for rule in taken):
            return Bond.FIX
        return Bond.KEEP if taken and not folder else None

    def forbids(self, path: str) -> bool:
        """Whether no task, by whatever action and whenever, may change a file."""
        return any(
            (not rule.verbs or Verb.WRITE in rule.verbs) and self._takes(rule, path, False)
            for rule in self.rules
            if not (rule.role or rule.mode or rule.kind or rule.time or rule.expires)
            and not rule.program
            and (not rule.tool or EVERY in rule.tool)
        )

    def below(self, path: str) -> bool:
        """Whether a rule may take something below a folder; in doubt it may."""
        return any(
            gitignore.may_cover_below(rule.path, place)
            for rule in self.rules
            for place in (path, f"{self.root}/{path}")
        )

    def _takes(self, rule: Rule, path: str, folder: bool) -> bool:
        if _covers(rule.path, self.root, path, folder):
            return True
        return folder and _covers(_folders(rule.path), self.root, path, folder)


def bind(layers: Iterable[RuleLayer], around: Circumstances, root: str) -> Binding | None:
    """What binds the commands of a task, or None where nothing does."""
    found = tuple(
        rule for layer in layers for rule in layer.rules if _binds(rule) and rule.concerns(around)
    )
    return Binding(root.rstrip("/"), found) if found else None


def _binds(rule: Rule) -> bool:
    tools = not rule.tool or EVERY in rule.tool or _COMMANDS.issubset(rule.tool)
    words = rule.argv or rule.at or rule.flags or rule.no_flags
    return (
        rule.decision is Decision.DENY
        and bool(rule.path)
        and tools
        and (not rule.program or (EVERY in rule.program and not words))
        and not rule.host
        and (_forbids_reading(rule) or not CHANGES.isdisjoint(rule.verbs))
    )


def _forbids_reading(rule: Rule) -> bool:
    return not rule.verbs or Verb.READ in rule.verbs


def _folders(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The folders of which a list takes everything below, without exception: `docs/**`."""
    if any(gitignore.parse(line).negated for line in lines):
        return ()
    cut = (line.removesuffix(_ALL) for line in lines if line.endswith(_ALL))
    return tuple(line if "/" in line else f"/{line}" for line in cut if line.strip("/*"))


def _covers(lines: tuple[str, ...], root: str, path: str, folder: bool) -> bool:
    if gitignore.covers(lines, path, careful=True, is_directory=folder):
        return True
    return gitignore.has_absolute(lines) and gitignore.covers(
        lines, f"{root}/{path}", careful=True, is_directory=folder, absolute=True
    )
