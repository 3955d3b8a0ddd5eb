"""The scripted provider: it plays the lines of a file in place of a model."""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson

from runtime.providers import script
from runtime.providers.base import (
    Answer,
    Prompt,
    ProviderError,
    Usage,
    cancelled,
    estimate,
    too_large,
    too_slow,
)

CHUNK_CHARACTERS = 24
CHUNK_PAUSE = 0.02
"""Seconds between two parts of a text, so that a person sees it stream."""
MAX_CHUNKS = 150
KEPT_REQUESTS = 256


@dataclass(frozen=True, slots=True)
class Request:
    """One question that was put to a scripted provider."""

    task_key: str
    ordinal: int
    prompt: Prompt


class ScriptedProvider:
    """Plays a script. A task's next line is its count of journaled model answers."""

    def __init__(self, spec: str, data: bytes) -> None:
        """`data` is the script itself. Raises `BadInput` naming the first bad line."""
        self.spec = spec
        self.requests: deque[Request] = deque(maxlen=KEPT_REQUESTS)
        """The last requests, oldest first."""
        self._lines = script.parse(data)
        self._sequences: dict[str, tuple[script.Line, ...]] = {}

    def __repr__(self) -> str:
        return f"ScriptedProvider({self.spec!r})"

    def decide(
        self,
        prompt: Prompt,
        *,
        ordinal: int,
        task_key: str,
        on_text: Callable[[str], None],
        cancel: threading.Event,
        timeout: float,
        max_bytes: int,
    ) -> Answer:
        """Play line `ordinal` of the task's sequence; see `Provider.decide`."""
        self.requests.append(Request(task_key, ordinal, prompt))
        line = self._line(task_key, ordinal)
        performance = _Performance(line, on_text, cancel, timeout, max_bytes)
        text = performance.play()
        return Answer(
            text=text,
            action=copy.deepcopy(line.action),
            usage=_usage(line, prompt),
            model="scripted",
        )

    def _line(self, task_key: str, ordinal: int) -> script.Line:
        lines = self._sequences.get(task_key)
        if lines is None:
            lines = self._sequences[task_key] = script.sequence(self._lines, task_key)
        if ordinal >= len(lines):
            raise ProviderError(
                "exhausted",
                f"The script has {len(lines)} answers for task {task_key!r}; "
                f"answer {ordinal + 1} was asked for.",
                remedy='End the script with a "finish" that the runtime accepts.',
            )
        return lines[ordinal]


class _Performance:
    """One line on its way out, within its bounds."""

    def __init__(
        self,
        line: script.Line,
        on_text: Callable[[str], None],
        cancel: threading.Event,
        timeout: float,
        max_bytes: int,
    ) -> None:
        self.line = line
        self.said = ""
        self.size = len(line.say.encode()) + len(orjson.dumps(line.action or {}))
        self._on_text = on_text
        self._cancel = cancel
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._deadline = time.monotonic() + timeout

    def play(self) -> str:
        """Stream the text, and return it. Raises `ProviderError`."""
        self._pause(self.line.delay)
        if self.size > self._max_bytes:
            raise too_large(self._max_bytes, self.said)
        for index, chunk in enumerate(chunks(self.line.say)):
            if index:
                self._pause(CHUNK_PAUSE)
            self._on_text(chunk)
            self.said += chunk
        if self.line.error is not None:
            raise script.failure(self.line, self.said)
        return self.said

    def _pause(self, seconds: float) -> None:
        left = self._deadline - time.monotonic()
        if self._cancel.wait(min(seconds, max(left, 0))):
            raise cancelled(self.said)
        if seconds > left:
            raise too_slow(self._timeout, self.said)


def chunks(text: str) -> Iterator[str]:
    """The parts in which a text is streamed: at most `MAX_CHUNKS`, so that it ends in 3 seconds."""
    size = max(CHUNK_CHARACTERS, -(-len(text) // MAX_CHUNKS))
    return (text[start : start + size] for start in range(0, len(text), size))


def _usage(line: script.Line, prompt: Prompt) -> Usage:
    if line.usage is None:
        return estimate(prompt, line.say + orjson.dumps(line.action).decode())
    return Usage(*line.usage, estimated=False)
