"""One chat completion as the events of a stream, made from a script's line. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from runtime.core import letters
from runtime.providers.answers import TOOL
from runtime.providers.script import Line
from runtime.providers.scripted import chunks

ARGUMENT_CHUNK = 64
"""Characters of a tool call's arguments in one event."""


def events(body: dict[str, Any], line: Line) -> Iterator[dict[str, Any] | None]:
    """The stream of one line; None stands for a pause."""
    yield chunk({"role": "assistant", "content": ""})
    for part in chunks(line.say):
        yield chunk({"content": part})
        yield None
    if line.action is None:
        return
    action = orjson.dumps(line.action).decode()
    if body.get("tools"):
        yield from _tool_call(line.number, action)
        yield chunk({}, "tool_calls")
    else:
        yield chunk({"content": ("\n" if line.say else "") + action})
        yield chunk({}, "stop")
    read, written = line.usage or (
        letters.tokens(orjson.dumps(body).decode()),
        letters.tokens(action),
    )
    total = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    yield {**chunk({}), "choices": [], "usage": total}


def _tool_call(number: int, action: str) -> Iterator[dict[str, Any]]:
    head = {"name": TOOL, "arguments": ""}
    yield _call_chunk({"id": f"call_{number}", "type": "function", "function": head})
    for start in range(0, len(action), ARGUMENT_CHUNK):
        yield _call_chunk({"function": {"arguments": action[start : start + ARGUMENT_CHUNK]}})


def _call_chunk(call: dict[str, Any]) -> dict[str, Any]:
    return chunk({"tool_calls": [{"index": 0, **call}]})


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """One event: a piece of the message, and at its end why it ends."""
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
