"""What a command prints, on the pages while it runs: decoded, redacted, bounded, short-lived.

The rows are deltas like those of a model that speaks; the action's id names them. They go once the
action's end is journaled.
"""

from __future__ import annotations

import codecs
import time

from runtime.journal.deltas import DeltaWriter
from runtime.secrets import Redactor

MOST = 256 << 10
"""Characters of one command that are shown as they come: more would slow the command down."""
ENDS = "\n[the preview ends here; the end of the command has more]\n"
SOON = 0.3
"""Seconds that a command may take before anything is shown: a short one needs no preview."""


class Preview:
    """The preview of one command. Safe for one thread at a time."""

    def __init__(self, run: str, task: str, action: str, redactor: Redactor, *, soon: float = SOON):
        self.action = action
        self._writer = DeltaWriter(run, task, action)
        self._shows_at = time.monotonic() + soon
        self._decoders = {
            name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")
        }
        self._redactors = {name: redactor.stream() for name in self._decoders}
        self._waiting: list[str] = []
        self._left = MOST
        self.shown = False
        """Whether there are rows to be removed."""

    def take(self, stream: str, data: bytes) -> str:
        """What came on one of the two streams; the text that it is."""
        text = self._decoders[stream].decode(data)
        self._show(stream, text)
        return text

    def close(self) -> str:
        """Nothing more comes; what was undecided, of both streams."""
        rest = ""
        for stream, decoder in self._decoders.items():
            text = decoder.decode(b"", True)
            rest += text
            self._show(stream, text)
            if self._left > 0 and self.shown:
                self._writer.add(self._redactors[stream].end())
        self._writer.close()
        return rest

    def _show(self, stream: str, text: str) -> None:
        if self._left <= 0 or not text:
            return
        self._waiting.append(self._redactors[stream].feed(text[: self._left]))
        self._left -= len(text)
        if self._left <= 0:
            self._waiting.append(ENDS)
        if self.shown or time.monotonic() >= self._shows_at:
            self.shown = True
            self._writer.add("".join(self._waiting))
            self._waiting.clear()
