"""What is kept of a background job's output: its beginning and its end, with places. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

HEAD, TAIL = 256 << 10, 768 << 10
"""Characters of the beginning and of the end that are kept."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters `start` to `end` of an output that has `total` so far. `lost`: how many before
    `start` were asked for and are not kept any more."""

    text: str
    start: int
    end: int
    total: int
    lost: int


class JobLog:
    """The output as text, in the order in which it came. Not safe for several threads."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head_room, self._tail_room = head, tail
        self._head: list[str] = []
        self._head_size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self.total = 0

    def feed(self, text: str) -> None:
        """Take what came."""
        self.total += len(text)
        free = self._head_room - self._head_size
        if free > 0 and text:
            self._head.append(text[:free])
            self._head_size += len(self._head[-1])
            text = text[free:]
        if text:
            self._tail.append(text[-self._tail_room :])
            self._tail_size += len(self._tail[-1])
            self._trim()

    def _trim(self) -> None:
        over = self._tail_size - self._tail_room
        while over > 0:
            first = self._tail.popleft()
            if len(first) > over:
                self._tail.appendleft(first[over:])
            gone = min(over, len(first))
            self._tail_size -= gone
            over -= gone

    def read(self, after: int, most: int) -> Piece:
        """At most `most` characters from place `after` on; what is gone is skipped and counted."""
        start = max(0, min(after, self.total))
        kept_from = self.total - self._tail_size
        if start < self._head_size:
            text = "".join(self._head)[start : start + most]
            if start + len(text) == self._head_size == kept_from and len(text) < most:
                text += "".join(self._tail)[: most - len(text)]
            return Piece(text, start, start + len(text), self.total, 0)
        lost = max(0, kept_from - start)
        start += lost
        offset = start - kept_from
        text = "".join(self._tail)[offset : offset + most]
        return Piece(text, start, start + len(text), self.total, lost)

    def whole(self) -> str:
        """All that is kept, with a mark where something is missing."""
        head, tail = "".join(self._head), "".join(self._tail)
        lost = self.total - self._head_size - self._tail_size
        return f"{head}\n[… {lost} characters are gone …]\n{tail}" if lost else head + tail
