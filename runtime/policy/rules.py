"""Rules of the layers 1 to 7 as data, and whether one of them fits a part of an action.

A rule names at least one thing to match; all that it names must fit, of a list one element.
Whatever it leaves out fits everything. Rules that refuse or ask are read carefully, in doubt
they fit; a rule that permits must fit beyond doubt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from runtime.core import canonical, clock, digests

from . import addresses, arguments, gitignore, windows
from .decision import Decision
from .reading import KINDRED, Part, Place, Verb

LAYERS = {
    1: "system",
    2: "organisation",
    3: "workspace",
    4: "user",
    5: "run",
    6: "role",
    7: "task kind",
}
EVERY = "*"
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a rule may ask about beyond the action. `moment` has a zone; None: nobody knows.
    `any_time`: times are left out of account."""

    role: str
    kind: str
    mode: str
    moment: datetime | None = None
    any_time: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """The fields are those of the language, see `docs/policy.md`. `match` and `no_match` hold the
    examples as canonical JSON. Raises `ValueError` when it would match everything."""

    id: str
    decision: Decision
    reason: str = ""
    tool: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    at: tuple[tuple[int, tuple[str, ...]], ...] = ()
    flags: tuple[str, ...] = ()
    no_flags: tuple[str, ...] = ()
    only_flags: tuple[str, ...] | None = None
    path: tuple[str, ...] = ()
    verbs: tuple[Verb, ...] = ()
    host: tuple[str, ...] = ()
    role: tuple[str, ...] = ()
    mode: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    expires: datetime | None = None
    match: tuple[str, ...] = ()
    no_match: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("a rule needs an id")
        if not (self.tool or self.program or self.path or self.host):
            raise ValueError(f"rule {self.id}: name a tool, a program, a path or a host")
        if self.permits and EVERY in self.tool:
            raise ValueError(f"rule {self.id}: a rule that permits names its tools")
        about_arguments = (self.argv, self.at, self.flags, self.no_flags, self.only_flags)
        if not self.program and any(about_arguments):
            raise ValueError(f"rule {self.id}: arguments need a program")
        if self.only_flags is not None and not self.permits:
            raise ValueError(f"rule {self.id}: only_flags is for rules that permit")
        if self.verbs and not self.path:
            raise ValueError(f"rule {self.id}: verbs need a path")

    @property
    def permits(self) -> bool:
        """Whether the rule permits, so that it must fit beyond doubt."""
        return self.decision is Decision.ALLOW

    def matches(self, part: Part, around: Circumstances) -> bool:
        """Whether this rule speaks about `part`."""
        return (
            (not self.tool or self._fits_tool(part) or EVERY in self.tool)
            and (not self.program or self._fits_program(part))
            and self._is_for(around)
            and (not self.program or self._fits_arguments(part))
            and (not self.path or self._fits_places(part.places))
            and (not self.host or self._fits_hosts(part))
            and self._holds(around)
        )

    def concerns(self, around: Circumstances) -> bool:
        """Whether this rule holds for such a task now, whatever it does."""
        return self._is_for(around) and self._holds(around)

    def _is_for(self, around: Circumstances) -> bool:
        return (
            _among(self.role, around.role)
            and _among(self.kind, around.kind)
            and _among(self.mode, around.mode)
        )

    def _fits_tool(self, part: Part) -> bool:
        if part.tool in self.tool or self.permits:
            return part.tool in self.tool
        return not KINDRED.get(part.tool, frozenset()).isdisjoint(self.tool)

    def _fits_program(self, part: Part) -> bool:
        names = _names(part, resolved=not self.permits)
        return any(arguments.word_fits(pattern, name) for pattern in self.program for name in names)

    def _fits_arguments(self, part: Part) -> bool:
        args = part.argv[1:]
        flags = tuple(map(arguments.parse_flag, self.flags))
        excepted = tuple(map(arguments.parse_flag, self.no_flags))
        if self.permits:
            return (
                (not self.argv or arguments.begins_with(args, self.argv))
                and all(arguments.stands_at(args, place, words) for place, words in self.at)
                and (not flags or any(arguments.surely(f, part.program, args) for f in flags))
                and not any(arguments.possibly(flag, args) for flag in excepted)
                and (
                    self.only_flags is None
                    or arguments.only(tuple(map(arguments.parse_flag, self.only_flags)), args)
                )
            )
        return (
            (not self.argv or arguments.may_begin_with(args, self.argv))
            and all(arguments.may_stand_at(args, place, words) for place, words in self.at)
            and (not flags or any(arguments.possibly(flag, args) for flag in flags))
            and not any(arguments.surely(flag, part.program, args) for flag in excepted)
        )

    def _fits_places(self, places: tuple[Place, ...]) -> bool:
        """A permitting rule must cover every place, any other rule one of them."""
        verbs = self.verbs
        if self.permits:
            every = all(not verbs or one.touch.verb in verbs for one in places)
            return bool(places) and every and all(map(self._covers, places))
        return any(
            self._may_cover(place) for place in places if not verbs or place.touch.verb in verbs
        )

    def _covers(self, place: Place) -> bool:
        if place.touch.pattern:
            return False
        directory = place.facts.type == "dir"
        plain, outright = _paths(place)
        return all(
            gitignore.covers(self.path, path, careful=False, is_directory=directory)
            for path in plain
        ) or all(
            gitignore.covers(self.path, path, careful=False, is_directory=directory, absolute=True)
            for path in outright
        )

    def _may_cover(self, place: Place) -> bool:
        # The hot path of a policy with many rules: plain loops, nothing made.
        lines, touch = self.path, place.touch
        plain, outright = _paths(place)
        if touch.pattern:
            return any(
                gitignore.may_meet(lines, path, deep=touch.deep) for path in (*plain, *outright)
            )
        directory = place.facts.type != "file"
        for path in plain:
            if gitignore.covers(lines, path, careful=True, is_directory=directory):
                return True
            if touch.deep and gitignore.may_cover_below(lines, path):
                return True
        if not gitignore.has_absolute(lines):
            return False
        for path in outright:
            if gitignore.covers(
                lines, path, careful=True, is_directory=directory, absolute=True
            ) or (touch.deep and gitignore.may_cover_below(lines, path)):
                return True
        return False

    def _fits_hosts(self, part: Part) -> bool:
        if self.permits:
            known = part.tool == "network" or not any(
                not word.startswith("-") and not addresses.in_words((word,), network=True)
                for word in part.argv[1:]
            )
            return bool(part.hosts) and known and all(map(self._fits_host, part.hosts))
        return any(map(self._fits_host, part.hosts)) or (part.network and EVERY in self.host)

    def _fits_host(self, host: str) -> bool:
        return any(addresses.fits(pattern, host) for pattern in self.host)

    def _holds(self, around: Circumstances) -> bool:
        if around.any_time or not (self.time or self.expires):
            return True
        if around.moment is None:
            return not self.permits
        if self.expires is not None and around.moment > self.expires:
            return False
        moment = around.moment
        return not self.time or any(windows.holds(window, moment) for window in self.time)


def _paths(place: Place) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A place as written and as resolved: from the worktree where it lies there, and outright."""
    one, two = place.relative or place.path, place.real or place.facts.resolved
    plain = (one,) if one == two else (one, two)
    return plain, place.names


def _names(part: Part, *, resolved: bool) -> set[str]:
    """What the program of a part may be called; with `resolved` also by the file behind it."""
    if not part.program:
        return set()
    given = part.argv[0].rpartition("/")[2] if part.argv else ""
    names = {part.program, given, given.partition(".")[0]}  # python3.12 is python3, too
    if resolved and part.resolved:
        names.add(part.resolved.rpartition("/")[2])
    return names


def _among(wanted: tuple[str, ...], given: str) -> bool:
    return not wanted or given in wanted


@dataclass(frozen=True, slots=True, eq=False)
class RuleLayer:
    """The rules of one layer. `number` is 1 to 7. `digest` covers every field of every rule, and
    layers with the same one are equal."""

    number: int
    name: str
    rules: tuple[Rule, ...]
    digest: str = field(init=False)
    _named: dict[str, tuple[int, ...]] = field(init=False, repr=False)
    """Rules by the plain names of their programs."""
    _others: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.number not in LAYERS:
            raise ValueError(f"layer {self.number} does not exist: 1 to 7")
        named: dict[str, list[int]] = {}
        others = []
        for index, rule in enumerate(self.rules):
            if rule.program and not any(_WILD.search(name) for name in rule.program):
                for name in rule.program:
                    named.setdefault(name, []).append(index)
            else:
                others.append(index)
        object.__setattr__(self, "_named", {name: tuple(at) for name, at in named.items()})
        object.__setattr__(self, "_others", tuple(others))
        rules = [as_data(rule) for rule in self.rules]
        given = {"number": self.number, "name": self.name, "rules": rules}
        object.__setattr__(self, "digest", digests.sha256(canonical.encode(given)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleLayer) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def speaking(self, part: Part, around: Circumstances) -> list[Rule]:
        """The rules that speak about a part, in order."""
        found = set(self._others)
        for name in _names(part, resolved=True):
            found.update(self._named.get(name, ()))
        candidates = (self.rules[index] for index in sorted(found))
        return [rule for rule in candidates if rule.matches(part, around)]


def match(
    layers: tuple[RuleLayer, ...], numbers: range, part: Part, around: Circumstances
) -> tuple[tuple[RuleLayer, Rule], ...]:
    """The rules of some layers that speak about a part, with their layer, highest first."""
    return tuple(
        (layer, rule)
        for layer in sorted(layers, key=lambda one: one.number)
        if layer.number in numbers
        for rule in layer.speaking(part, around)
    )


def as_data(rule: Rule) -> dict[str, Any]:
    """Every field of a rule as plain data."""
    return {item.name: _plain(getattr(rule, item.name)) for item in fields(rule)}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, datetime):
        return clock.stamp(value.astimezone(UTC))
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
