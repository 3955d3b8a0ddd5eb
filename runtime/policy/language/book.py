"""All policy files together, and which layers hold for whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from runtime.core import canonical, digests

from ..rules import RuleLayer
from .documents import Document
from .faults import PolicyFault

Who = tuple[str, str, str, str, str]
"""Workspace, user, run, role and kind of task: the subjects of the layers 3 to 7."""
MAX_KEPT = 256
"""Tasks whose layers are remembered."""


@dataclass(frozen=True)
class Book:
    """The documents, ordered by name. Immutable; a change makes another book."""

    documents: tuple[Document, ...] = ()
    _layers: dict[Who, tuple[RuleLayer, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Book:
        """A book of documents without faults. Raises `PolicyFault` with all of them."""
        ordered = tuple(sorted(documents, key=lambda one: (one.layer.number, one.name)))
        faults = [fault for document in ordered for fault in document.faults]
        if faults:
            raise PolicyFault(faults)
        return cls(ordered)

    @cached_property
    def hash(self) -> str:
        """Covers every field of every rule of every file."""
        given = [[one.name, one.layer.digest] for one in self.documents if one.layer.rules]
        return digests.sha256(canonical.encode(given))

    @property
    def empty(self) -> bool:
        """Whether there is no rule at all."""
        return not any(one.layer.rules for one in self.documents)

    @property
    def rules(self) -> int:
        """How many rules there are."""
        return sum(len(one.layer.rules) for one in self.documents)

    def layers(
        self, *, workspace: str, user: str, run: str, role: str, kind: str
    ) -> tuple[RuleLayer, ...]:
        """The layers that hold for a task, highest first. The same tuple for the same task."""
        who = (workspace, user, run, role, kind)
        if who not in self._layers:
            if len(self._layers) >= MAX_KEPT:
                self._layers.clear()
            subjects = dict(zip(range(3, 8), who, strict=True))
            self._layers[who] = tuple(
                one.layer
                for one in self.documents
                if one.subject == subjects.get(one.layer.number, "")
            )
        return self._layers[who]

    def with_document(self, document: Document) -> Book:
        """The book with one document put in the place of the one for the same layer and subject.

        Raises `PolicyFault`.
        """
        others = (
            one
            for one in self.documents
            if (one.layer.number, one.subject) != (document.layer.number, document.subject)
        )
        return Book.of([*others, document])
