"""One call of a model through the client library: stream text, collect the action, keep bounds.

pydantic-ai's direct layer streams text and tool calls, types the failures of many providers, and
leaves the action to us unvalidated; the OpenAI SDK alone would cover one provider, and no types.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from pydantic_ai import messages as library
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from runtime.providers import answers, failures
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
from runtime.providers.wire import Wire

WATCH_SECONDS = 0.05
"""How often cancellation is looked at."""
CLOSE_SECONDS = 0.3
"""How long a connection may take to close before the call returns without waiting for it."""
MAX_MODEL_NAME = 200


@dataclass(frozen=True, slots=True)
class Opened:
    """A model of the client library, and what to ask it for."""

    model: Model
    parameters: ModelRequestParameters
    settings: ModelSettings


class Connection(Protocol):
    """What differs between the providers behind the client library."""

    def open(self, state: Wire, timeout: float) -> AbstractAsyncContextManager[Opened]:
        """A model over a connection that reports into `state`."""
        ...


@dataclass(slots=True)
class Call:
    """One question, its bounds, and what has been shown so far."""

    prompt: Prompt
    on_text: Callable[[str], None]
    timeout: float
    max_bytes: int
    secret: str = field(repr=False)
    _shown: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All that was handed to `on_text`."""
        return "".join(self._shown)

    def show(self, text: str) -> None:
        """Hand on text, where there is some."""
        if text:
            self._shown.append(text)
            self.on_text(text)


def run(connection: Connection, call: Call, cancel: threading.Event) -> Answer:
    """Make the call in its own event loop. Raises `ProviderError`, or what `on_text` raises."""
    if cancel.is_set():
        raise cancelled("")
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_watched(connection, call, cancel))
    finally:
        # Not asyncio.run: that would wait for a name look-up that hangs in a thread.
        loop.run_until_complete(_end_tasks())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _watched(connection: Connection, call: Call, cancel: threading.Event) -> Answer:
    """The call, until it ends, its time is up, or the caller cancels."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + call.timeout
    task = loop.create_task(_ask(connection, call))
    while not task.done():
        left = deadline - loop.time()
        if cancel.is_set():
            raise cancelled(call.text)
        if left <= 0:
            raise too_slow(call.timeout, call.text)
        await asyncio.wait({task}, timeout=min(WATCH_SECONDS, left))
    return task.result()


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


async def _ask(connection: Connection, call: Call) -> Answer:
    state = Wire(call.max_bytes)
    splitter = answers.TextSplitter()
    repair = answers.Repair()
    caller_failed: list[Exception] = []

    def show(text: str) -> None:
        try:
            call.show(text)
        except Exception as error:
            caller_failed.append(error)
            raise

    try:
        async with (
            connection.open(state, call.timeout) as opened,
            model_request_stream(
                opened.model,
                _history(call.prompt),
                model_settings=opened.settings,
                model_request_parameters=opened.parameters,
                instrument=False,
            ) as stream,
        ):
            async for event in stream:
                show(splitter.feed(repair.feed(_text_of(event))))
            return _answer(stream, call, splitter.held, show)
    except ProviderError:
        raise
    except Exception as error:  # noqa: BLE001  (a hostile server can trip the library anywhere)
        if caller_failed:
            raise caller_failed[0] from None
        if state.fault == "size":
            raise too_large(call.max_bytes, call.text) from None
        raise failures.explain(error, state, secret=call.secret, partial=call.text) from None


def _text_of(event: library.ModelResponseStreamEvent) -> str:
    """The text for people in one event; thoughts and tool calls hold none."""
    if isinstance(event, library.PartStartEvent) and isinstance(event.part, library.TextPart):
        return event.part.content
    if isinstance(event, library.PartDeltaEvent) and isinstance(event.delta, library.TextPartDelta):
        return event.delta.content_delta
    return ""


def _answer(stream: StreamedResponse, call: Call, held: str, show: Callable[[str], None]) -> Answer:
    """What a stream that ended properly amounts to. Raises `ProviderError` for a refusal."""
    response = stream.get()
    if response.finish_reason == "content_filter":
        raise ProviderError("refusal", "The model refused to answer.", partial=call.text)
    calls = [
        (part.tool_name, part.args)
        for part in response.parts
        if isinstance(part, library.ToolCallPart)
    ]
    found = answers.from_calls(calls) if calls else answers.from_text(held)
    show(held if calls else found.text)
    action, error = found.action, found.error
    if response.finish_reason == "length":
        # Even what reads as whole may lack its end: nothing of it is used.
        action, error = (
            None,
            "The answer reached the model's output limit; answer more briefly.",
        )
    written = len(call.text) + len(held) + sum(len(str(arguments)) for _, arguments in calls)
    return Answer(
        text=call.text,
        action=action,
        usage=_usage(response, call.prompt, written),
        model=_printable(response.model_name or "")[:MAX_MODEL_NAME],
        error=error,
    )


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


def _usage(response: library.ModelResponse, prompt: Prompt, written: int) -> Usage:
    said = response.usage
    if said.input_tokens <= 0 and said.output_tokens <= 0:
        return estimate(prompt, written)
    return Usage(max(said.input_tokens, 0), max(said.output_tokens, 0), estimated=False)


def _history(prompt: Prompt) -> list[library.ModelMessage]:
    """The prompt in the library's form.

    Neighbours of one role are joined: many chat templates of local models take only turns.
    """
    history: list[library.ModelMessage] = [
        library.ModelRequest(parts=[library.SystemPromptPart(prompt.system)])
    ]
    for role, group in itertools.groupby(prompt.messages, key=lambda message: message.role):
        text = "\n\n".join(message.text for message in group)
        if role == "user":
            history.append(library.ModelRequest(parts=[library.UserPromptPart(text)]))
        else:
            history.append(library.ModelResponse(parts=[library.TextPart(text)]))
    return history
