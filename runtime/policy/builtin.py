"""The built-in rules as they decide, for people who look one up: by the names that verdicts carry.

A rule that is a table is read from it. Of one that is code the gate is asked, in a small world of
its own, what it decides about an example, and why; so nothing here can say anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from . import builtin_commands, builtin_examples
from .builtin_examples import Asked
from .decision import Decision
from .gate import gate
from .programs import DEFAULT_PROGRAMS, PROGRAMS
from .testing import World, request
from .verdict import STAGE_NAMES, Verdict

_FILES = {"/tree/README.md": "x", "/tree/src/a.py": "x"}
_ALLOWED = DEFAULT_PROGRAMS | frozenset(PROGRAMS)
"""All that tables know: else the boundary would be the one to speak."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """Rules that decide the same for the same reason, each with an example. `stage` is the one in
    which they speak."""

    stage: str
    decision: Decision
    reason: str
    rules: tuple[Asked, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules, each once."""
        return tuple(dict.fromkeys(one.rule for one in self.rules))


def judge(asked: Asked) -> Verdict:
    """The gate's verdict on an example."""
    world = World(files={**_FILES, **asked.files})
    return gate(
        replace(request(asked.action), **asked.request),
        world.context(**{"allowed": _ALLOWED, **asked.context}),
    )


@lru_cache(maxsize=1)
def catalogue() -> tuple[BuiltIn, ...]:
    """Every built-in rule, in the order of the stages, the gravest first."""
    found = [*_judged(single()), *_listed(), *_tables()]
    return tuple(
        sorted(found, key=lambda one: (STAGE_NAMES.index(one.stage), -one.decision.rank, one.names))
    )


def single() -> Iterator[Asked]:
    """The examples of rules that are code."""
    examples = builtin_examples
    yield from examples.INTAKE
    yield from examples.UNREAD
    yield from examples.BOUNDARY
    yield from examples.VETO
    yield from examples.PATHS
    yield from examples.NETWORK
    yield from examples.AROUND
    yield from builtin_commands.COMMANDS


def _judged(examples: Iterable[Asked]) -> Iterator[BuiltIn]:
    """Each example with what the gate says of it: where not the rule that was expected speaks, the
    one that decides."""
    for asked in examples:
        verdict = judge(asked)
        spoken = [one for one in verdict.stages if one.outcome and one.rule]
        meant = [one for one in spoken if one.rule == asked.rule]
        decides = [one for one in spoken if one.rule == verdict.rule]
        for one in [*meant, *decides][:1]:
            outcome = one.outcome or verdict.decision
            first = one.reason.partition("; ")[0]  # what else was noticed has rules of its own
            yield BuiltIn(one.name, outcome, first, (replace(asked, rule=one.rule),))


def _listed() -> Iterator[BuiltIn]:
    for rules in builtin_commands.LISTED:
        [first] = _judged(rules[:1])
        yield replace(first, rules=rules)


def _tables() -> Iterator[BuiltIn]:
    """The tables' rules, together where they decide the same for the same reason."""
    found: dict[tuple[str, Decision, str], list[Asked]] = {}
    tables = (builtin_commands.of_the_shell(), builtin_commands.of_programs())
    for stage, decision, reason, asked in chain(*tables):
        found.setdefault((stage, decision, reason), []).append(asked)
    for key, rules in found.items():
        yield BuiltIn(*key, tuple(rules))
