"""Ollama's own `/api/chat`: the question, its lines, and its errors. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from runtime.core import letters
from runtime.providers import wording
from runtime.providers.answers import TOOL
from runtime.providers.base import Prompt
from runtime.providers.calling import Ending, Heard
from runtime.providers.plain import BadEvent, Fault, Framing, Request
from runtime.providers.schema import DESCRIPTION, action_schema, union_schema
from runtime.providers.vendors import CONTEXT, Endpoint

_ENDINGS: dict[str, Ending] = {"stop": "stop", "length": "length"}


class Ollama:
    """The dialect of `ollama:`."""

    framing: Framing = "lines"

    def request(self, endpoint: Endpoint, prompt: Prompt, *, tools: bool) -> Request:
        """The prompt as turns; the action as a tool, or as a schema that binds the text.

        A prompt beyond the context would be cut at its beginning without a word: it is refused
        with `context_length` instead.
        """
        if prompt.weight() >= endpoint.context * letters.PER_TOKEN:
            error = wording.failure("context_length", endpoint.vendor)
            error.remedy = f"Raise {CONTEXT}, as far as the model and the memory go."
            raise error
        body: dict[str, Any] = {
            "model": endpoint.model,
            "messages": _turns(prompt),
            "stream": True,
            "options": {"num_ctx": endpoint.context},
        }
        if endpoint.longest:
            body["options"]["num_predict"] = endpoint.longest
        if tools:
            function = {"name": TOOL, "description": DESCRIPTION, "parameters": action_schema()}
            body["tools"] = [{"type": "function", "function": function}]
        else:
            body["format"] = union_schema()
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        return Request("/api/chat", body, headers)

    def take(self, event: Mapping[str, Any], heard: Heard) -> str | Fault:
        """Text, calls, and with the last line the reason of the end and the tokens."""
        if "error" in event:
            return Fault("overload", str(event["error"]))
        message = event.get("message", {})
        for call in message.get("tool_calls") or []:
            function = call["function"]
            heard.calls.append((str(function["name"]), function.get("arguments", {})))
        heard.model = str(event.get("model", heard.model))
        if event.get("done"):
            heard.ending = _ENDINGS.get(str(event.get("done_reason", "stop")))
            heard.input_tokens = event.get("prompt_eval_count")
            heard.output_tokens = event.get("eval_count")
        text = message.get("content", "")
        if not isinstance(text, str):
            raise BadEvent
        return text

    def fault(self, status: int, body: object) -> Fault:
        """Its errors are one sentence."""
        said = body.get("error", "") if isinstance(body, Mapping) else ""
        return Fault(wording.status_kind(status), said if isinstance(said, str) else "")


def _turns(prompt: Prompt) -> list[dict[str, str]]:
    """Neighbours of one role joined: many chat templates take only turns."""
    turns = [{"role": "system", "content": prompt.system}]
    for role, group in itertools.groupby(prompt.messages, key=lambda message: message.role):
        turns.append({"role": role, "content": "\n\n".join(message.text for message in group)})
    return turns
