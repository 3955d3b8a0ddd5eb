"""One call through the client library: `pydantic-ai`'s direct layer, without agents or retries.

It streams text and tool calls, types the failures of many providers, knows what each model may be
sent, and leaves the action to us unvalidated.
"""

from __future__ import annotations

import itertools
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from pydantic_ai import messages as library
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from runtime.providers import failures
from runtime.providers.base import Answer, Prompt, ProviderError, too_large
from runtime.providers.calling import Call, CallerFailed, Ending, Heard, conclude
from runtime.providers.vendors import Vendor
from runtime.providers.wire import Wire

_ENDINGS: dict[str | None, Ending] = {
    "stop": "stop",
    "tool_call": "stop",
    "length": "length",
    "content_filter": "refusal",
}


@dataclass(frozen=True, slots=True)
class Opened:
    """A model of the client library, and what to ask it for."""

    model: Model
    parameters: ModelRequestParameters
    settings: ModelSettings


class Connection(Protocol):
    """What differs between the vendors behind the client library."""

    vendor: Vendor

    def open(self, state: Wire, timeout: float) -> AbstractAsyncContextManager[Opened]:
        """A model over a connection that reports into `state`."""
        ...


async def ask(connection: Connection, call: Call) -> Answer:
    """Put the question. Raises `ProviderError`, and `CallerFailed` for what `on_text` raised."""
    state = Wire(call.max_bytes)
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
                call.hear(_text_of(event))
            return conclude(call, _heard(stream))
    except (ProviderError, CallerFailed):
        raise
    except Exception as error:  # noqa: BLE001  (a hostile server can trip the library anywhere)
        if call.caller_failed is not None:
            raise CallerFailed(call.caller_failed) from None
        if state.fault == "size":
            raise too_large(call.max_bytes, call.text) from None
        raise failures.explain(
            error, state, connection.vendor, secret=call.secret, partial=call.text
        ) from None


def _text_of(event: library.ModelResponseStreamEvent) -> str:
    """The text for people in one event; thoughts and tool calls hold none."""
    if isinstance(event, library.PartStartEvent) and isinstance(event.part, library.TextPart):
        return event.part.content
    if isinstance(event, library.PartDeltaEvent) and isinstance(event.delta, library.TextPartDelta):
        return event.delta.content_delta
    return ""


def _heard(stream: StreamedResponse) -> Heard:
    response = stream.get()
    return Heard(
        calls=[
            (part.tool_name, part.args)
            for part in response.parts
            if isinstance(part, library.ToolCallPart)
        ],
        ending=_ENDINGS.get(response.finish_reason),
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        model=response.model_name or "",
    )


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
