"""Rules that a person may agree to instead of one exact action: what is offered, what it covers.

Such a rule speaks about one command by its program and its first words. It lifts only what the
developer defaults (or the mode `safe`) ask, and only for the reasons that were given when it was
agreed to: whatever another stage says, or another option makes them say, is asked again.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runtime.core import canonical, digests

from . import judging
from .arguments import parse_flag
from .case import Case
from .decision import Decision
from .reading import Part, Remark
from .rules import Circumstances, Rule
from .words import UNREAD, Wild

MOST_WORDS = 3
"""Leading words that an offered rule binds at most."""
MAX_ASKED = 16
MAX_BYTES = 2 << 10
"""Of a rule as canonical JSON: the event that says who agreed to it has to hold it whole."""
_LIFTED = frozenset({"defaults", "mode"})
_PATTERN = frozenset("*?[")


@dataclass(frozen=True)
class Remembered:
    """`program` with `argv` as its first words, any words after them, no options but `flags`, no
    hosts but `hosts`. `asked` holds what it lifts: name and reason of each remark."""

    tool: str
    program: str
    argv: tuple[str, ...]
    flags: tuple[str, ...]
    asked: tuple[tuple[str, str], ...]
    hosts: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Names the rule: SHA-256 over every field."""
        return digests.sha256(canonical.encode(self.as_data()))

    @property
    def is_short(self) -> bool:
        """Whether it can be journaled, and read by a person."""
        return len(canonical.encode(self.as_data())) <= MAX_BYTES

    def as_data(self) -> dict[str, Any]:
        """Every field as plain data; `parse` reads it."""
        return {
            "tool": self.tool,
            "program": self.program,
            "argv": list(self.argv),
            "flags": list(self.flags),
            "asked": [list(pair) for pair in self.asked],
            **({"hosts": list(self.hosts)} if self.hosts else {}),
        }

    @classmethod
    def parse(cls, data: dict[str, Any]) -> Remembered:
        """The rule of `as_data`. Raises `ValueError` or `KeyError` for anything else."""
        asked = tuple((str(rule), str(reason)) for rule, reason in data["asked"])
        return cls(
            str(data["tool"]),
            str(data["program"]),
            tuple(map(str, data["argv"])),
            tuple(map(str, data["flags"])),
            asked,
            tuple(map(str, data.get("hosts", ()))),
        )

    @cached_property
    def rule(self) -> Rule:
        """The same as a rule that permits, so that it fits beyond doubt or not at all."""
        return Rule(
            id="remembered",
            decision=Decision.ALLOW,
            tool=(self.tool,),
            program=(self.program,),
            argv=self.argv,
            only_flags=self.flags,
        )

    def text(self) -> str:
        """The rule for people."""
        options = f"no options but {shlex.join(self.flags)}" if self.flags else "no options"
        hosts = f", no hosts but {', '.join(self.hosts)}" if self.hosts else ""
        return f"{shlex.join([self.program, *self.argv])} …, any further words, {options}{hosts}"

    def fits(self, part: Part, around: Circumstances) -> bool:
        """Whether it speaks about a command. What may be reached is bound: the cage lets a
        command to the hosts that its words name."""
        return self.rule.matches(part, around) and set(part.hosts) <= set(self.hosts)

    def examples(self) -> tuple[list[str], list[str]]:
        """Three command lines that it fits, and three that it does not."""
        start = [self.program, *self.argv]
        fits = [[*start, *self.flags], [*start, "another"], [*start, "one", "two"]]
        others = [[*start[:-1], "another"], [*start, "--another"], ["another", *self.argv]]
        return [shlex.join(words) for words in fits], [shlex.join(words) for words in others]


def offers(case: Case) -> tuple[Remembered, ...]:
    """The rules that would cover a question, narrowest first; () where only its exact action can
    be remembered. There is one only where a single command is asked about, in plain words."""
    asking = _asking(case)
    if asking is None or len(asking) != 1:
        return ()
    part, remarks = asking[0]
    args = part.argv[1:]
    asked = tuple(dict.fromkeys((one.rule, one.reason) for one in remarks))
    if not part.program or not _plain(args) or len(asked) > MAX_ASKED:
        return ()
    flags = tuple(dict.fromkeys(word for word in args if _option(word)))
    if not all(map(_readable, flags)):
        return ()
    leading = 0
    while leading < min(len(args), MOST_WORDS) and not _option(args[leading]):
        leading += 1
    found = (
        Remembered(part.tool, part.program, args[:count], flags, asked, part.hosts)
        for count in range(leading, 0, -1)
    )
    around = _around(case)
    return tuple(one for one in found if one.is_short and one.rule.matches(part, around))


def covers(remembered: Remembered, case: Case) -> bool:
    """Whether it lifts all that is asked about a case."""
    asking = _asking(case)
    around = _around(case)
    return asking is not None and all(
        remembered.fits(part, around)
        and all((one.rule, one.reason) in remembered.asked for one in remarks)
        for part, remarks in asking
    )


def _asking(case: Case) -> list[tuple[Part, list[Remark]]] | None:
    """The parts that are asked about, and why; None where anything else asks, too."""
    if case.standing() is not Decision.ASK:
        return None
    asked = {name for name, finding in case.counted() if finding.outcome is Decision.ASK}
    if not asked <= _LIFTED:
        return None
    found = []
    for index, part in enumerate(case.parts):
        remarks = [] if index in case.silenced else judging.default_remarks(part)
        if any(one.decision is not Decision.ASK for one in remarks):
            return None
        if remarks or ("mode" in asked and part.mutation):
            found.append((part, remarks))
    return found or None


def _around(case: Case) -> Circumstances:
    request = case.request
    return Circumstances(request.role, request.kind, request.mode, case.context.moment)


def _plain(args: tuple[str, ...]) -> bool:
    return all(
        word.isprintable()
        and UNREAD not in word
        and not isinstance(word, Wild)
        and not _PATTERN.intersection(word)
        for word in args
    )


def _option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _readable(word: str) -> bool:
    try:
        parse_flag(word)
    except ValueError:
        return False
    return True
