"""Files of the worktree that a person looks at before they count: by their names, and by rules. Pure.

One list for every way in: the gate asks before an edit names such a file, and before work is
handed over in which a command has changed one.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from . import protected
from .decision import Decision
from .facts import Facts
from .reading import Part, Place, Touch, Verb
from .rules import Circumstances, Rule, RuleLayer, match

_WAYS = (("run_tool", "?"), ("apply_patch", ""))
"""A command made the change, nobody knows which; and what rules say of any edit, they say of this
one. Tools with their programs."""


def guarded(path: str) -> str:
    """Why a change of this file is looked at first, or ""; the path is relative to the worktree."""
    if protected.own_part(path):
        return "governs runs"
    if protected.secret_by_name(path):
        return "may hold a secret"
    return protected.guided(path)


def ruled(
    layers: tuple[RuleLayer, ...],
    numbers: range,
    around: Circumstances,
    where: tuple[str, str],
    verb: Verb = Verb.WRITE,
) -> Iterator[tuple[RuleLayer, Rule]]:
    """The rules of some layers that would not simply let a file be changed by somebody whose words
    nobody saw. `where`: the worktree's root, and the path in it."""
    root, path = where
    full = posixpath.join(root, path)
    place = Place(Touch(verb, path), full, True, path, path, Facts("file", full, True))
    for tool, program in _WAYS:
        part = Part(tool, program, places=(place,))
        for layer, rule in match(layers, numbers, part, around):
            if rule.path and not rule.permits:
                yield layer, rule


def weight(
    layers: tuple[RuleLayer, ...], around: Circumstances, where: tuple[str, str], verb: Verb
) -> int:
    """How grave what rules say of such a change is; 0: nothing."""
    found = (rule.decision for _, rule in ruled(layers, range(1, 8), around, where, verb))
    return max((decision.rank for decision in found), default=Decision.ALLOW.rank)
