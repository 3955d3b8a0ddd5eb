"""A rule that a person agreed to instead of one exact action: one command, by its program and its
first words. `offering` says when there is one, and what it covers."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runtime.core import canonical, digests

from .decision import Decision
from .reading import Part
from .rules import Circumstances, Rule

MAX_BYTES = 2 << 10
"""Of a rule as canonical JSON: the event that says who agreed to it has to hold it whole."""


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
