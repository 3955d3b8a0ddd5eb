"""What is known while a script is read: where the next command works, and what was found."""

from __future__ import annotations

import posixpath
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


@dataclass(slots=True)
class Scope:
    """Where the next command works; `lost`: nobody can say."""

    cwd: str
    lost: bool = False

    def copy(self) -> Scope:
        """The same place, for statements whose changes of directory stay inside."""
        return Scope(self.cwd, self.lost)


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
        self.words = WordReader(source, reader.context.home, self._here)

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

    def _here(self) -> str:
        return posixpath.normpath(self.reader.lens.join(self.scope.cwd))
