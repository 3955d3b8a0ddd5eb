"""Reading AGY's `stream-json`: one JSON object to a line. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.providers.agy_contract import BadAnswer, Envelope, read_envelope, read_object


class TooMuch(Exception):
    """The text is longer than allowed."""


class EventReader:
    """Takes output as it comes; gives text, and keeps the result. `room` is bytes of text."""

    def __init__(self, room: int, longest_line: int) -> None:
        self.result: Envelope | None = None
        """What the last `result` event said."""
        self._room = room
        self._longest = longest_line
        self._pending = bytearray()

    def feed(self, data: bytes) -> Iterator[str]:
        """The text deltas of every line that `data` completes, one by one.

        Raises `BadAnswer` for a line that is no JSON object (a blank one, too), and `TooMuch`.
        """
        start = len(self._pending)
        self._pending += data
        while (end := self._pending.find(b"\n", start)) >= 0:
            line = bytes(self._pending[:end])
            del self._pending[: end + 1]
            start = 0
            yield from self._take(read_object(line))
        if len(self._pending) > self._longest:
            raise TooMuch

    def end(self) -> list[str]:
        """What a last line without its end holds."""
        line = bytes(self._pending)
        self._pending.clear()
        return self._take(read_object(line)) if line else []

    def _take(self, event: dict[str, Any]) -> list[str]:
        kind = event.get("event")
        if kind == "result":
            result = event.get("result")
            if not isinstance(result, dict):
                raise BadAnswer("`result` is no object")
            self.result = read_envelope(result)
        elif kind == "step_update":
            update = event.get("step_update")
            text = update.get("text_delta") if isinstance(update, dict) else None
            if isinstance(text, str) and text:
                self._room -= len(text.encode("utf-8", "replace"))
                if self._room < 0:
                    raise TooMuch
                return [text]
        return []
