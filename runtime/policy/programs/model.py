"""The words in which the tables speak about programs: options, operands, remarks.

A table is data. Where a program's arguments are a language of their own (find, dd, tar, env)
the table names a reader, a function from arguments to findings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from ..decision import Decision
from ..reading import Remark, Touch, Verb


class Value(Enum):
    """Whether an option takes a value: never, only joined to it (`--x=1`), or always."""

    NONE = "none"
    JOINED = "joined"
    NEEDED = "needed"


@dataclass(frozen=True, slots=True)
class Option:
    """One option under all its names. `verb` says that the value is a path, `decision` that
    the option itself is remarkable, `cd` that the value is the directory to work in."""

    names: tuple[str, ...]
    value: Value = Value.NONE
    verb: Verb | None = None
    decision: Decision | None = None
    why: str = ""
    cd: bool = False


class Operands(Enum):
    """What the words that are no options mean."""

    DATA = "data"
    READ = "read"
    LIST = "list"
    WRITE = "write"
    DELETE = "delete"
    FILTER = "filter"
    """The first is read, a second one written."""
    COPY = "copy"
    MOVE = "move"
    LINK = "link"
    FREE = "free"
    """Anything: looked at as something that may be read."""
    COMMAND = "command"
    """The rest is another command: a wrapper."""


@dataclass(slots=True)
class Found:
    """What a reader noticed. `inner`: command lines that this one runs; `script`: shell text
    that it runs; `environment`: `NAME=value` it sets for them; `remotes`: where git pushes to;
    `cwd`: where it works from then on; `local`: it looks for them among the project's own tools;
    `follows`: of directories it takes what the links below them lead to. `whole`: it shows content
    of the tree that no word names; so it does if one of the `unsure` words is no file. `deeper`:
    touches of all that lies below, `rooted`: such whose paths begin at the worktree's root. These
    four count for rules about paths."""

    touches: list[Touch] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    inner: list[tuple[str, ...]] = field(default_factory=list)
    script: list[str] = field(default_factory=list)
    environment: list[str] = field(default_factory=list)
    remotes: list[str | None] = field(default_factory=list)
    cwd: str | None = None
    local: bool = False
    follows: bool = False
    network: bool = False
    changes: bool = False
    operands: list[str] = field(default_factory=list)
    whole: bool = False
    unsure: list[str] = field(default_factory=list)
    deeper: list[Touch] = field(default_factory=list)
    rooted: list[Touch] = field(default_factory=list)

    def remark(self, decision: Decision, rule: str, reason: str) -> None:
        """A developer default."""
        self.remarks.append(Remark("defaults", decision, rule, reason))

    def veto(self, rule: str, reason: str) -> None:
        """Built-in safety."""
        self.remarks.append(Remark("veto", Decision.DENY, rule, reason))

    def opaque(self, rule: str, reason: str) -> None:
        """Something that decides what happens cannot be read."""
        self.remarks.append(Remark("canonicalise", Decision.ASK, rule, reason))


FOLLOWS = "<follows>"
"""Stands among the names of an option by which links are followed."""
Reader = Callable[["Program", tuple[str, ...], Found], None]
"""Reads the arguments after the program, or after what the table already took."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program, or one subcommand (`name` is then "git log").

    `reads_only`: it changes nothing unless a touch or an option says otherwise.
    `strict`: an option that the table does not know makes a person look. `skip` operands
    come first that are no paths (a pattern, a duration) unless one of `skip_unless` was given.
    `subcommands`: the first operand chooses; `other` judges the ones not listed.
    """

    name: str
    base: Decision = Decision.ALLOW
    why: str = ""
    reads_only: bool = False
    network: bool = False
    strict: bool = False
    veto: bool = False
    operands: Operands = Operands.FREE
    options: tuple[Option, ...] = ()
    skip: int = 0
    skip_unless: tuple[str, ...] = ()
    deep: bool = False
    deep_options: tuple[str, ...] = ()
    options_first: bool = False
    subcommands: Mapping[str, Program] = field(default_factory=dict)
    other: Program | None = None
    reader: Reader | None = None
    raw: bool = False
    """The reader takes the arguments as they are; the option table is not used."""


def flags(names: str) -> Option:
    """Options (names separated by blanks) without a value and without a remark."""
    return Option(tuple(names.split()))


def letters(each: str) -> Option:
    """Single-letter options without a value and without a remark."""
    return Option(tuple(f"-{letter}" for letter in each))


def takes(names: str) -> Option:
    """Options whose value is plain data."""
    return Option(tuple(names.split()), Value.NEEDED)


def joined(names: str) -> Option:
    """Options that may have a value, only joined to them."""
    return Option(tuple(names.split()), Value.JOINED)


def reads(names: str) -> Option:
    """Options whose value is a file that is read."""
    return Option(tuple(names.split()), Value.NEEDED, Verb.READ)


def writes(names: str) -> Option:
    """Options whose value is a file that is written."""
    return Option(tuple(names.split()), Value.NEEDED, Verb.WRITE)


def obeys(names: str) -> Option:
    """Options whose value is a file that is run."""
    return Option(tuple(names.split()), Value.NEEDED, Verb.RUN)


def follows(names: str) -> Option:
    """Options by which links below a directory are followed."""
    return Option((*names.split(), FOLLOWS))


def moves_to(names: str) -> Option:
    """Options whose value is the directory to work in."""
    return Option(tuple(names.split()), Value.NEEDED, Verb.READ, cd=True)


def asks(why: str, names: str, value: Value = Value.NONE) -> Option:
    """Options that make a person look."""
    return Option(tuple(names.split()), value, decision=Decision.ASK, why=why)


def runs(names: str, value: Value = Value.NEEDED) -> Option:
    """Options whose value is a program or code to be run."""
    return asks("runs another program", names, value)


def escalates(why: str, names: str, value: Value = Value.NONE) -> Option:
    """Options that make a member of security look."""
    return Option(tuple(names.split()), value, decision=Decision.ESCALATE, why=why)


def looker(
    names: str,
    *options: Option,
    operands: Operands = Operands.READ,
    strict: bool = False,
    deep: bool = False,
    reader: Reader | None = None,
) -> tuple[Program, ...]:
    """Programs that only look, under each of their names."""
    return tuple(
        Program(
            name,
            reads_only=True,
            operands=operands,
            options=options,
            strict=strict,
            deep=deep,
            reader=reader,
        )
        for name in names.split()
    )


def asking(
    names: str,
    why: str,
    *options: Option,
    decision: Decision = Decision.ASK,
    operands: Operands = Operands.DATA,
    network: bool = False,
    reader: Reader | None = None,
) -> tuple[Program, ...]:
    """Programs at which a person looks, under each of their names."""
    return tuple(
        Program(
            name,
            decision,
            why,
            operands=operands,
            options=options,
            network=network,
            reader=reader,
        )
        for name in names.split()
    )


def ordinary(
    names: str,
    *options: Option,
    operands: Operands = Operands.FREE,
    reader: Reader | None = None,
) -> tuple[Program, ...]:
    """Programs that work on the project and are let do so, under each of their names."""
    return tuple(
        Program(name, operands=operands, options=options, reader=reader) for name in names.split()
    )


def table(*programs: Program) -> dict[str, Program]:
    """Programs by the name that calls them: of "git log" the last word."""
    return {program.name.rpartition(" ")[2]: program for program in programs}
