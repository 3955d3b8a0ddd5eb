"""One call of a model: its bounds on time and bytes, cancellation, and what an answer amounts to.

Every provider that is reached over HTTP goes through here, whichever library speaks for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from runtime.providers import answers
from runtime.providers.base import (
    Answer,
    Prompt,
    ProviderError,
    cancelled,
    reported,
    too_slow,
)

WATCH_SECONDS = 0.05
"""How often cancellation is looked at."""
CLOSE_SECONDS = 0.3
"""How long a connection may take to close before the call returns without waiting for it."""
MAX_MODEL_NAME = 200
Ending = Literal["stop", "length", "refusal"]
Found = TypeVar("Found")


class CallerFailed(Exception):
    """What the caller's `on_text` raised, wrapped so that no library takes it for its own."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(slots=True)
class Call:
    """One question, its bounds, and what has been shown so far."""

    prompt: Prompt
    on_text: Callable[[str], None]
    timeout: float
    max_bytes: int
    secret: str = field(default="", repr=False)
    caller_failed: Exception | None = None
    _shown: list[str] = field(default_factory=list)
    _splitter: answers.TextSplitter = field(default_factory=answers.TextSplitter)
    _repair: answers.Repair = field(default_factory=answers.Repair)

    @property
    def text(self) -> str:
        """All that was handed to `on_text`."""
        return "".join(self._shown)

    @property
    def held(self) -> str:
        """The text that was not shown, since it may be an action."""
        return self._splitter.held

    def hear(self, text: str) -> None:
        """The model's next words: shown up to where an action may begin."""
        if text:
            self.show(self._splitter.feed(self._repair.feed(text)))

    def show(self, text: str) -> None:
        """Hand on text, where there is some. What `on_text` raises is kept and ends the call."""
        if not text:
            return
        self._shown.append(text)
        try:
            self.on_text(text)
        except Exception as error:
            self.caller_failed = error
            raise CallerFailed(error) from error


@dataclass(slots=True)
class Heard:
    """What a stream amounted to, but for its text."""

    calls: list[tuple[str, str | Mapping[str, object] | None]] = field(default_factory=list)
    """Tool calls: name and arguments, mostly still JSON."""
    ending: Ending | None = None
    """Why the model stopped; None where the stream did not say: it was cut."""
    input_tokens: object = None
    output_tokens: object = None
    """As the server says; None where it does not."""
    model: str = ""


def run(call: Call, ask: Callable[[Call], Awaitable[Found]], cancel: threading.Event) -> Found:
    """Make the call in its own event loop. Raises `ProviderError`, or what `on_text` raises."""
    if cancel.is_set():
        raise cancelled("")
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_watched(call, ask, cancel))
    except CallerFailed as failed:
        raise failed.error from None
    finally:
        # Not asyncio.run: that would wait for a name look-up that hangs in a thread.
        loop.run_until_complete(_end_tasks())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _watched(
    call: Call, ask: Callable[[Call], Awaitable[Found]], cancel: threading.Event
) -> Found:
    """The call, until it ends, its time is up, or the caller cancels."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + call.timeout
    task = asyncio.ensure_future(ask(call))
    while not task.done():
        left = deadline - loop.time()
        if cancel.is_set():
            raise cancelled(call.text)
        if left <= 0:
            raise too_slow(call.timeout, call.text)
        await asyncio.wait({task}, timeout=min(WATCH_SECONDS, left))
    try:
        return task.result()
    except ProviderError as error:
        if error.kind == "timeout" and loop.time() >= deadline:  # the client noticed it first
            raise too_slow(call.timeout, call.text) from error
        raise


async def _end_tasks() -> None:
    """End what still runs, which closes its connection; how it ends does not matter any more."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()


def conclude(call: Call, heard: Heard) -> Answer:
    """What a stream that ended properly amounts to. Raises `ProviderError` for one that did not,
    and for a refusal."""
    if heard.ending is None:
        raise ProviderError("cut", "The model's answer broke off.", partial=call.text)
    if heard.ending == "refusal":
        raise ProviderError("refusal", "The model refused to answer.", partial=call.text)
    held = call.held
    found = answers.from_calls(heard.calls) if heard.calls else answers.from_text(held)
    call.show(held if heard.calls else found.text)
    action, error = found.action, found.error
    if heard.ending == "length":
        # Even what reads as whole may lack its end: nothing of it is used.
        action, error = None, "The answer reached the model's output limit; answer more briefly."
    written = "".join([call.text, held, *(str(arguments) for _, arguments in heard.calls)])
    return Answer(
        text=call.text,
        action=action,
        usage=reported(call.prompt, written, heard.input_tokens, heard.output_tokens),
        model=_printable(heard.model)[:MAX_MODEL_NAME],
        error=error,
    )


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())
