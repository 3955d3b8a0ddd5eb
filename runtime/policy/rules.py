"""Rules of the layers 1 to 7 as data, and whether one of them fits a part of an action.

A rule names at least one thing to match; all that it names must fit. Whatever it leaves
out fits everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from runtime.core import canonical, digests

from .decision import Decision
from .patterns import covers, may_cover_below, may_meet
from .reading import Part, Place, Verb

LAYERS = {
    1: "system",
    2: "organisation",
    3: "workspace",
    4: "user",
    5: "run",
    6: "role",
    7: "task kind",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """`tool` is a kind of action; `argv` a prefix of the arguments after the program; `path` a
    pattern below the worktree (or an absolute one); `verbs` restricts what is done to it.
    Raises `ValueError` when it would match everything or holds an empty word."""

    id: str
    decision: Decision
    reason: str = ""
    tool: str = ""
    program: str = ""
    argv: tuple[str, ...] = ()
    path: str = ""
    verbs: tuple[Verb, ...] = ()

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("a rule needs an id")
        if not (self.tool or self.program or self.path):
            raise ValueError(f"rule {self.id}: name a tool, a program or a path")
        if self.argv and not self.program:
            raise ValueError(f"rule {self.id}: arguments need a program")

    def matches(self, part: Part) -> bool:
        """Whether this rule speaks about `part`."""
        if self.tool and self.tool != part.tool:
            return False
        if self.program and self.program != part.program:
            return False
        if self.argv and not self._fits_arguments(part.argv[1:]):
            return False
        return not self.path or self._fits_places(part.places)

    def _fits_arguments(self, args: tuple[str, ...]) -> bool:
        """A refusing rule also holds when options stand before or between its words: an option
        must not be a way around it. A permitting rule holds for exactly its words."""
        if args[: len(self.argv)] == self.argv:
            return True
        if self.decision is Decision.ALLOW:
            return False
        wanted = iter(self.argv)
        word = next(wanted, None)
        for given in args:
            if given == word:
                word = next(wanted, None)
        return word is None

    def _fits_places(self, places: tuple[Place, ...]) -> bool:
        """A permitting rule must cover every place, any other rule one of them."""
        concerned = [one for one in places if not self.verbs or one.touch.verb in self.verbs]
        if self.decision is Decision.ALLOW:
            return (
                bool(concerned)
                and len(concerned) == len(places)
                and all(self._fits(one) for one in places)
            )
        return any(self._fits(one) for one in concerned)

    def _fits(self, place: Place) -> bool:
        strict = self.decision is Decision.ALLOW
        paths = {place.relative or place.path, place.real or place.facts.resolved}
        if strict:
            return not place.touch.pattern and all(covers(self.path, path) for path in paths)
        if place.touch.pattern:
            return any(may_meet(self.path, path) for path in paths)
        return any(
            covers(self.path, path, fold=True)
            or (place.touch.deep and may_cover_below(self.path, path))
            for path in paths
        )


@dataclass(frozen=True, slots=True)
class RuleLayer:
    """The rules of one layer. `number` is 1 to 7."""

    number: int
    name: str
    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if self.number not in LAYERS:
            raise ValueError(f"layer {self.number} does not exist: 1 to 7")


def match(
    layers: tuple[RuleLayer, ...], numbers: range, part: Part
) -> tuple[tuple[int, Rule], ...]:
    """The rules of some layers that speak about a part, with their layer, highest first."""
    return tuple(
        (layer.number, rule)
        for layer in sorted(layers, key=lambda one: one.number)
        if layer.number in numbers
        for rule in layer.rules
        if rule.matches(part)
    )


@lru_cache(maxsize=256)
def layer_hash(layer: RuleLayer) -> str:
    """Covers every field of every rule of the layer."""
    return digests.sha256(canonical.encode(_plain(layer)))


def _plain(layer: RuleLayer) -> dict[str, Any]:
    return {
        "number": layer.number,
        "name": layer.name,
        "rules": [
            {
                "id": rule.id,
                "decision": str(rule.decision),
                "reason": rule.reason,
                "tool": rule.tool,
                "program": rule.program,
                "argv": list(rule.argv),
                "path": rule.path,
                "verbs": [str(verb) for verb in rule.verbs],
            }
            for rule in layer.rules
        ],
    }
