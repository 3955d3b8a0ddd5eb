"""Google's `streamGenerateContent`: the question, its events, and its errors. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from runtime.providers import wording
from runtime.providers.answers import TOOL
from runtime.providers.base import Prompt
from runtime.providers.calling import Ending, Heard
from runtime.providers.plain import BadEvent, Fault, Framing, Request
from runtime.providers.schema import DESCRIPTION, action_schema, union_schema
from runtime.providers.vendors import Endpoint

_REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE"}
)
_TOO_LONG = re.compile(r"input token count|exceeds the maximum number of tokens", re.IGNORECASE)
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s\Z")


class Gemini:
    """The dialect of `google:`."""

    framing: Framing = "sse"

    def request(self, endpoint: Endpoint, prompt: Prompt, *, tools: bool) -> Request:
        """The prompt as turns; the action as a function that may be called, or as a schema."""
        body: dict[str, Any] = {
            "systemInstruction": {"parts": [{"text": prompt.system}]},
            "contents": _turns(prompt),
        }
        if tools:
            function = {
                "name": TOOL,
                "description": DESCRIPTION,
                "parametersJsonSchema": action_schema(),
            }
            body["tools"] = [{"functionDeclarations": [function]}]
            # Forced to call, it would say nothing to the person who watches.
            body["toolConfig"] = {"functionCallingConfig": {"mode": "AUTO"}}
        else:
            body["generationConfig"] = {
                "responseMimeType": "application/json",
                "responseJsonSchema": union_schema(),
            }
        if endpoint.longest:
            body.setdefault("generationConfig", {})["maxOutputTokens"] = endpoint.longest
        name = quote(endpoint.model.removeprefix("models/"), safe="")
        headers = {"x-goog-api-key": endpoint.key} if endpoint.key else {}
        return Request(f"/v1beta/models/{name}:streamGenerateContent?alt=sse", body, headers)

    def take(self, event: Mapping[str, Any], heard: Heard) -> str | Fault:
        """Text, calls, the reason of the end, and the tokens so far."""
        if "error" in event:
            return self.fault(int(event["error"].get("code", 500)), event)
        heard.model = str(event.get("modelVersion", heard.model))
        _count(event.get("usageMetadata", {}), heard)
        if event.get("promptFeedback", {}).get("blockReason"):
            heard.ending = "refusal"
        text = ""
        for candidate in event.get("candidates", [])[:1]:
            for part in candidate.get("content", {}).get("parts", []):
                text += _part(part, heard)
            if reason := candidate.get("finishReason"):
                heard.ending = _ending(str(reason))
        return text

    def fault(self, status: int, body: object) -> Fault:
        """Google says in the details why, and for how long."""
        error = body.get("error", {}) if isinstance(body, Mapping) else {}
        error = error if isinstance(error, Mapping) else {}
        said = str(error.get("message", ""))
        details = [one for one in error.get("details") or [] if isinstance(one, Mapping)]
        if any(one.get("reason") == "API_KEY_INVALID" for one in details):
            return Fault("auth", said)
        if status == 400 and _TOO_LONG.search(said):
            return Fault("context_length", said)
        delay = next((str(one["retryDelay"]) for one in details if "retryDelay" in one), "")
        waits = _DELAY.match(delay)
        return Fault(
            wording.status_kind(status),
            said,
            float(waits[1]) if waits else None,
            lasting=any("PerDay" in str(one.get("violations", "")) for one in details),
        )


def _turns(prompt: Prompt) -> list[dict[str, Any]]:
    """Neighbours of one role joined."""
    return [
        {
            "role": "user" if role == "user" else "model",
            "parts": [{"text": "\n\n".join(message.text for message in group)}],
        }
        for role, group in itertools.groupby(prompt.messages, key=lambda message: message.role)
    ]


def _part(part: Mapping[str, Any], heard: Heard) -> str:
    """A part's text for people: thoughts are not shown."""
    if "functionCall" in part:
        call = part["functionCall"]
        heard.calls.append((str(call["name"]), call.get("args", {})))
        return ""
    text = part.get("text", "")
    if not isinstance(text, str):
        raise BadEvent
    return "" if part.get("thought") else text


def _ending(reason: str) -> Ending | None:
    if reason == "MAX_TOKENS":
        return "length"
    if reason in _REFUSALS:
        return "refusal"
    # A call that the server itself could not read counts as an answer without action.
    return "stop" if reason in ("STOP", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL") else None


def _count(usage: Mapping[str, Any], heard: Heard) -> None:
    """Every event repeats the sums; thoughts are paid for as output."""
    if "promptTokenCount" in usage:
        heard.input_tokens = usage["promptTokenCount"]
        parts = [usage.get(name, 0) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
        heard.output_tokens = sum(parts) if all(type(one) is int for one in parts) else None
