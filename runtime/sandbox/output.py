"""What is kept of a stream: its beginning and its end, within a bound, whatever comes."""

from __future__ import annotations


class Kept:
    """The first and the last half of `room` bytes; the rest is counted and forgotten."""

    __slots__ = ("_head_room", "_tail_room", "head", "tail", "total")

    def __init__(self, room: int) -> None:
        self._head_room = room // 2
        self._tail_room = room - room // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        self.total += len(data)
        free = self._head_room - len(self.head)
        if free > 0:
            self.head += data[:free]
            data = data[free:]
        if data:
            self.tail += data[-self._tail_room :]
            over = len(self.tail) - self._tail_room
            if over > 0:
                del self.tail[:over]

    def bytes(self) -> bytes:
        """What was kept, without a mark at the cut (which is after `len(head)` bytes)."""
        return bytes(self.head + self.tail)

    @property
    def cut(self) -> int:
        """Bytes that are gone."""
        return self.total - len(self.head) - len(self.tail)
