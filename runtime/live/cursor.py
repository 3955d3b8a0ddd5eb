"""Where one browser is in one run. Pure, and a few integers, however slow the browser is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from runtime.core.errors import BadInput

from .limits import Limits

MOST_TEXT = 16384
"""Characters of speech in one frame."""


class Cursor:
    """The window of rows and speech that were sent and not yet acknowledged."""

    def __init__(self, after: int, held: Mapping[str, int], limits: Limits, now: float) -> None:
        self.sent = self.acked = after
        self.held = dict(held)
        self._limits = limits
        self._said = 0
        self._moved_at = now
        self._out: deque[tuple[int, int]] = deque()
        self._out_bytes = 0

    def room(self, head: int) -> int:
        """How many rows may be sent now."""
        free = self._limits.window - (self.sent - self.acked)
        if self._out_bytes >= self._limits.window_bytes:
            return 0
        return max(0, min(free, head - self.sent, self._limits.frame_rows))

    def went(self, seq: int, size: int, now: float) -> None:
        """Rows up to `seq` were sent in a frame of `size` bytes."""
        if self.sent == self.acked:
            self._moved_at = now
        self.sent = seq
        self._out.append((seq, size))
        self._out_bytes += size

    def ack(self, seq: int, now: float) -> None:
        """The browser holds everything up to `seq`. Raises `BadInput` for what was never sent."""
        if seq > self.sent:
            raise BadInput(f"ack {seq} is above the last row sent, {self.sent}.", field="seq")
        self.acked = max(self.acked, seq)
        while self._out and self._out[0][0] <= seq:
            self._out_bytes -= self._out.popleft()[1]
        self._said = 0
        self._moved_at = now

    def speech(
        self, speaking: Mapping[str, list[str]], now: float
    ) -> Iterator[list[tuple[str, int, str]]]:
        """Frames of parts that the browser lacks, as far as the window allows."""
        frame: list[tuple[str, int, str]] = []
        size = 0
        for message, parts in speaking.items():
            for part in range(self.held.get(message, 0), len(parts)):
                if self._said >= self._limits.speech_bytes:
                    break
                if self._said == 0:
                    self._moved_at = now
                text = parts[part]
                self._said += len(text.encode())
                self.held[message] = part + 1
                frame.append((message, part + 1, text))
                size += len(text)
                if size >= MOST_TEXT:
                    yield frame
                    frame, size = [], 0
        if frame:
            yield frame
        for message in [name for name in self.held if name not in speaking]:
            del self.held[message]

    def waits(self, head: int, speaking: Mapping[str, list[str]]) -> bool:
        """Whether something is held back because the browser does not acknowledge."""
        if head > self.sent:
            return self.room(head) == 0
        full = self._said >= self._limits.speech_bytes
        return full and any(len(said) > self.held.get(name, 0) for name, said in speaking.items())

    def stalls_at(self) -> float:
        """When a browser that is waited for counts as gone."""
        return self._moved_at + self._limits.stall_seconds
