"""What a renderer answers, and how it reads a payload that may be older or newer than itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from runtime.journal.rows import EventRow
from runtime.present import html

Head = Callable[[str, int], str | None]
"""The first characters of an artifact (SHA-256, bytes) that the reader may see, or None."""


@dataclass(frozen=True, slots=True)
class View:
    """One event for a person.

    `weight` is `loud` (what a reader looks for), `plain`, or `quiet` (machinery, one small
    line). `tone` colours the icon. `message` names the model's message that the row ends.
    """

    title: SafeString
    icon: str = "dot"
    tone: str = "idle"
    weight: str = "plain"
    body: SafeString = html.EMPTY
    message: str = ""


class Facts:
    """A payload, read tolerantly: a missing or odd field is empty, never an error."""

    def __init__(self, row: EventRow, head: Head) -> None:
        self.row = row
        self.payload: Mapping[str, Any] = row.payload
        self._head = head

    def text(self, name: str) -> str:
        """A field as text; empty where it is absent or lies in an artifact."""
        value = self.payload.get(name)
        if value is None or isinstance(value, dict | list):
            return ""
        return str(value)

    def number(self, name: str) -> int:
        """A field as a whole number; zero where it is none."""
        value = self.payload.get(name)
        return value if isinstance(value, int) else 0

    def flag(self, name: str) -> bool:
        """Whether a field is true."""
        return self.payload.get(name) is True

    def items(self, name: str) -> list[Any]:
        """A field as a list; empty where it is none."""
        value = self.payload.get(name)
        return value if isinstance(value, list) else []

    def table(self, name: str) -> dict[str, Any] | None:
        """A field as an object; None where it is none, or lies in an artifact."""
        value = self.payload.get(name)
        return value if isinstance(value, dict) and not self.stored(name) else None

    def stored(self, name: str) -> tuple[str, int] | None:
        """Hash and bytes of a field that lies in an artifact."""
        value = self.payload.get(name)
        if not isinstance(value, dict) or value.keys() != {"artifact", "size"}:
            return None
        digest, size = value["artifact"], value["size"]
        return (digest, size) if html.is_digest(digest) and isinstance(size, int) else None

    def block(self, name: str, label: str) -> SafeString:
        """A text that may have moved to an artifact: whole, or its head with the way to the rest."""
        moved = self.stored(name)
        if moved is None:
            return html.output(self.text(name), label, cut=self.number("cut"))
        return self.artifact(*moved, label)

    def artifact(self, digest: str, size: int, label: str) -> SafeString:
        """A text that lies in an artifact: its head, if it is at hand, with the way to the rest."""
        return html.stored(digest, size, self.row.run, label, self._head(digest, size))

    @property
    def person(self) -> str:
        """The name of the person who did it; empty for machinery."""
        actor = self.row.actor
        return actor.removeprefix("user:") if actor.startswith("user:") else ""


Renderer = Callable[[Facts], View]
