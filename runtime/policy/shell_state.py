"""What is known while a script is read: where the next command works, and what was found."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import tree_sitter

from .decision import Decision
from .programs.model import Found
from .reading import CHANGES, Part, Place, Remark, Touch
from .shell_words import Word, WordReader

if TYPE_CHECKING:
    from .argv import CommandReader

Node = tree_sitter.Node


def opaque(rule: str, reason: str) -> Remark:
    """Something decisive cannot be read."""
    return Remark("canonicalise", Decision.ASK, rule, reason)


Spot = tuple[str, bool]
"""A working directory, and whether nobody can say if it is the one."""
_MOVING = re.compile(
    r"_|BASH\w*|RANDOM|SRANDOM|SECONDS|LINENO|EPOCH\w*|OPT\w*|E?UID|PPID|GROUPS|DIRSTACK|FUNCNAME"
    r"|HIST\w*|REPLY|COMP\w*|PIPESTATUS|MAPFILE|COPROC\w*|READLINE\w*|SHLVL|HOST\w*|MACHTYPE"
    r"|OSTYPE|PWD|OLDPWD|HOME|IFS|PATH|CDPATH|PS\d|ENV|LC_\w+|LANG|POSIXLY_CORRECT|GLOBIGNORE|EXECIGNORE"
)
"""Names to which the shell itself gives values, or that change how it reads."""
_PLAIN_VALUE = re.compile(r"[^\\$`\"'~\n]*")
MAX_TURNS = 24
"""Words for which the bodies of a script's loops are read one by one, all loops together."""


@dataclass(slots=True)
class Scope:
    """Where the next command works if the one before succeeded; `lost`: nobody can say; `fallen`:
    where it works otherwise, and `sure` that there is no otherwise. `names`: variables that the
    script itself has set to known words; `frozen`: those that it may be unable to set, or that
    mean more than their word."""

    cwd: str
    lost: bool = False
    fallen: Spot | None = None
    sure: bool = True
    names: dict[str, Word] = field(default_factory=dict)
    frozen: set[str] = field(default_factory=set)

    def copy(self) -> Scope:
        """The same place and names, for statements whose changes stay inside."""
        names, frozen = dict(self.names), set(self.frozen)
        return Scope(self.cwd, self.lost, self.fallen, self.sure, names, frozen)

    @property
    def place(self) -> Spot:
        """Where one is after success."""
        return self.cwd, self.lost

    @property
    def failed(self) -> Spot:
        """Where one is after failure."""
        return self.place if self.fallen is None else self.fallen

    @property
    def certain(self) -> bool:
        """Whether the last command cannot have failed: a change to a directory that is there."""
        return self.sure and self.fallen is not None

    def take(self, place: Spot) -> None:
        """Be there, whatever came before."""
        self.cwd, self.lost = place
        self.fallen, self.sure = None, True

    def settle(self) -> None:
        """Whether the last command succeeded is not known any more."""
        if self.failed != self.place and not self.sure:
            self.lost = True
        self.fallen, self.sure = None, True

    def after_both(self, first: Scope) -> None:
        """`A && B`, after B: where it failed, that may have been A."""
        if not first.certain:
            self.fallen = first.failed if first.failed == self.failed else (self.cwd, True)
            self.sure = False

    def after_either(self, first: Scope) -> None:
        """`A || B`, after B: where it succeeded, that may have been A."""
        if first.certain:
            self.take(first.place)
        elif first.place != self.place:
            self.fallen, self.sure = self.failed, False
            self.lost = True

    def bind(self, name: str, word: Word, *, wild: bool = False) -> None:
        """Remember what a variable holds, if that is one plain word (or, with `wild`, a path that
        fits a pattern); else forget it."""
        plain = word.text is not None and _PLAIN_VALUE.fullmatch(word.text) is not None
        own = name not in self.frozen and not _MOVING.fullmatch(name)
        if plain and own and (wild or not word.wild):
            self.names[name] = word
        else:
            self.names.pop(name, None)

    def forget(self, names: Iterable[str]) -> None:
        """These may hold anything from now on."""
        for name in names:
            self.names.pop(name, None)

    def freeze(self, name: str) -> None:
        """Never again believe to know what this variable holds."""
        self.names.pop(name, None)
        self.frozen.add(name)


@dataclass(slots=True)
class Around:
    """What surrounds one command: redirections and assignments."""

    touches: list[Touch] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)


class State:
    """Collects the parts of one script."""

    def __init__(self, reader: CommandReader, source: bytes, cwd: str, depth: int) -> None:
        self.reader = reader
        self.source = source
        self.depth = depth
        self.scope = Scope(cwd)
        self.parts: list[Part] = []
        self.notes: list[Remark] = []
        self.functions: set[str] = set()
        self.turns = 0
        self.words = WordReader(source, reader.context.home, self._here, self._own)

    def note(self, rule: str, reason: str) -> None:
        """Say about the script as a whole that something could not be read."""
        self.notes.append(opaque(rule, reason))

    def finish(self) -> list[Part]:
        """All parts, with a last one for what belongs to the script as a whole."""
        if self.parts and not self.notes:
            return self.parts
        remarks = tuple(dict.fromkeys(self.notes))
        return [*self.parts, self._part((), remarks, mutation=bool(remarks))]

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def word(self, node: Node) -> Word:
        """The word of a node."""
        return self.words.read(node)

    def surround(self, around: Around) -> None:
        """What stands around a statement that is no program, for itself."""
        found = Found(touches=around.touches, remarks=around.remarks)
        places = self.reader.places(found, self.scope.cwd)
        if places or found.remarks:
            changes = any(place.touch.verb in CHANGES for place in places)
            self.parts.append(self._part(places, tuple(found.remarks), mutation=changes))

    def unknown_program(self, around: Around) -> None:
        """A command of which only the surroundings are known: it may do anything."""
        found = Found(touches=around.touches, remarks=around.remarks)
        places = self.reader.places(found, self.scope.cwd)
        self.parts.append(self._part(places, tuple(found.remarks), mutation=True))

    def _part(
        self, places: tuple[Place, ...], remarks: tuple[Remark, ...], *, mutation: bool
    ) -> Part:
        return Part(
            tool=self.reader.tool,
            cwd=self.scope.cwd,
            places=places,
            remarks=remarks,
            mutation=mutation,
            capability="run" if mutation else "read",
        )

    def unroll(self, words: list[Word]) -> bool:
        """Whether a loop over these words is read word by word."""
        self.turns += len(words)
        return bool(words) and self.turns <= MAX_TURNS and all(one.text for one in words)

    def _own(self, name: str) -> Word | None:
        return self.scope.names.get(name)

    def _here(self) -> str:
        return posixpath.normpath(self.reader.lens.join(self.scope.cwd))
