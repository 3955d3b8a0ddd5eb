"""How the servers of the vendors speak: the bytes of their streams and of their errors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from runtime.providers import Provider, load
from tests.providers.raw_server import DONE, KEY, event
from tests.providers.raw_server import call as openai_call

VERIFY = {"kind": "verify"}


def head(content_type: str = "text/event-stream", *more: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Type: {content_type}", "Connection: close", *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def status(code: int, body: object, *headers: str) -> bytes:
    text = json.dumps(body).encode()
    lines = [
        f"HTTP/1.1 {code} X",
        "Content-Type: application/json",
        f"Content-Length: {len(text)}",
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + text


class Voice:
    """One vendor. Usage is 812 tokens in and 34 out."""

    scheme = "openai"
    url = "OPENAI_BASE_URL"
    key = "OPENAI_API_KEY"
    path = "/v1"
    head = head()
    start = b""

    def provider(self, base: str, **env: str) -> Provider:
        settings = {self.url: base + self.path, self.key: KEY, **env}
        return load(f"{self.scheme}:maker/some-model", env=settings)

    def text(self, words: str) -> bytes:
        return event({"content": words})

    def call(self, action: object, name: str = "act") -> bytes:
        return openai_call(json.dumps(action), name)

    def end(self, why: str = "call", *, usage: bool = True) -> bytes:
        """`why`: call, stop, length or refusal."""
        reason = {"call": "tool_calls", "refusal": "content_filter"}.get(why, why)
        total = {"prompt_tokens": 812, "completion_tokens": 34, "total_tokens": 846}
        return event({}, reason) + (event({}, usage=total) if usage else b"") + DONE

    def whole(self, words: str = "", action: object = VERIFY) -> bytes:
        """A good answer."""
        said = self.text(words) if words else b""
        return self.head + self.start + said + self.call(action) + self.end()

    def error(self, message: str, **more: Any) -> object:
        return {"error": {"message": message, **more}}

    too_long = (400, {"error": {"message": "too long", "code": "context_length_exceeded"}})
    no_tools = (400, {"error": {"message": "this model does not support tools"}})
    in_stream = b'data: {"error": {"message": "slow down", "code": 429}}\n\n'
    in_stream_kind = "rate_limit"

    def request(self, body: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bool, bool]:
        """System prompt, turns, whether there is our tool, whether there is a schema."""
        messages = body["messages"]
        turns = [(one["role"], one["content"]) for one in messages[1:]]
        tools = [tool["function"]["name"] for tool in body.get("tools", [])]
        return messages[0]["content"], turns, tools == ["act"], "response_format" in body


class OpenRouter(Voice):
    scheme = "openrouter"
    url = "OPENROUTER_BASE_URL"
    key = "OPENROUTER_API_KEY"
    path = "/api/v1"


class Anthropic(Voice):
    scheme = "anthropic"
    url = "ANTHROPIC_BASE_URL"
    key = "ANTHROPIC_API_KEY"
    path = ""
    too_long = (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"},
        },
    )
    no_tools = (400, {"type": "error", "error": {"message": "tools are not supported"}})
    in_stream = (
        b"event: error\ndata: "
        b'{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}\n\n'
    )
    in_stream_kind = "overload"

    @property
    def start(self) -> bytes:  # type: ignore[override]
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-raw",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 812, "output_tokens": 1},
        }
        return self._event("message_start", message=message)

    def _event(self, kind: str, **fields: Any) -> bytes:
        data = json.dumps({"type": kind, **fields})
        return f"event: {kind}\ndata: {data}\n\n".encode()

    def _block(self, index: int, block: dict[str, Any], delta: dict[str, Any]) -> bytes:
        return (
            self._event("content_block_start", index=index, content_block=block)
            + self._event("content_block_delta", index=index, delta=delta)
            + self._event("content_block_stop", index=index)
        )

    def text(self, words: str) -> bytes:
        delta = {"type": "text_delta", "text": words}
        return self._block(0, {"type": "text", "text": ""}, delta)

    def call(self, action: object, name: str = "act") -> bytes:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(action)}
        return self._block(1, {"type": "tool_use", "id": "t1", "name": name, "input": {}}, delta)

    def end(self, why: str = "call", *, usage: bool = True) -> bytes:
        reason = {"call": "tool_use", "stop": "end_turn", "length": "max_tokens"}.get(why, why)
        delta = {"stop_reason": reason, "stop_sequence": None}
        tokens = {"output_tokens": 34}
        return self._event("message_delta", delta=delta, usage=tokens) + self._event("message_stop")

    def error(self, message: str, **more: Any) -> object:
        return {"type": "error", "error": {"type": "api_error", "message": message, **more}}

    def request(self, body: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bool, bool]:
        system = body["system"]
        system = system if isinstance(system, str) else system[0]["text"]
        turns = []
        for one in body["messages"]:
            content = one["content"]
            text = content if isinstance(content, str) else "".join(p["text"] for p in content)
            turns.append((one["role"], text))
        tools = [tool["name"] for tool in body.get("tools", [])]
        return system, turns, tools == ["act"], "output_config" in body or "output_format" in body


class Google(Voice):
    scheme = "google"
    url = "GOOGLE_BASE_URL"
    key = "GEMINI_API_KEY"
    path = ""
    too_long = (
        400,
        {"error": {"code": 400, "message": "The input token count (9) exceeds the maximum number"}},
    )
    no_tools = (400, {"error": {"code": 400, "message": "Function calling is not supported"}})
    in_stream = b'data: {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}\n\n'
    in_stream_kind = "overload"

    def _event(self, *parts: dict[str, Any], **more: Any) -> bytes:
        candidate = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
        if "finish" in more:
            candidate["finishReason"] = more.pop("finish")
        value = {"candidates": [candidate], "modelVersion": "gemini-raw", **more}
        return b"data: " + json.dumps(value).encode() + b"\r\n\r\n"

    def text(self, words: str) -> bytes:
        return self._event({"text": words})

    def call(self, action: object, name: str = "act") -> bytes:
        return self._event({"functionCall": {"name": name, "args": action}})

    def end(self, why: str = "call", *, usage: bool = True) -> bytes:
        reason = {"length": "MAX_TOKENS", "refusal": "SAFETY"}.get(why, "STOP")
        tokens = {"promptTokenCount": 812, "candidatesTokenCount": 30, "thoughtsTokenCount": 4}
        return self._event(finish=reason, **({"usageMetadata": tokens} if usage else {}))

    def error(self, message: str, **more: Any) -> object:
        return {"error": {"code": 400, "message": message, "status": "X", **more}}

    def request(self, body: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bool, bool]:
        turns = [
            ("assistant" if one["role"] == "model" else "user", one["parts"][0]["text"])
            for one in body["contents"]
        ]
        functions = [
            function["name"]
            for tool in body.get("tools", [])
            for function in tool["functionDeclarations"]
        ]
        system = body["systemInstruction"]["parts"][0]["text"]
        return (
            system,
            turns,
            functions == ["act"],
            "responseJsonSchema" in body.get("generationConfig", {}),
        )


class Ollama(Voice):
    scheme = "ollama"
    url = "OLLAMA_BASE_URL"
    key = "OLLAMA_API_KEY"
    path = ""
    head = head("application/x-ndjson")
    no_tools = (400, {"error": "some-model does not support tools"})
    in_stream = b'{"error": "an error was encountered while running the model"}\n'
    in_stream_kind = "overload"

    def _line(self, message: dict[str, Any], **more: Any) -> bytes:
        value = {"model": "llama-raw", "message": {"role": "assistant", "content": "", **message}}
        return json.dumps({**value, "done": False, **more}).encode() + b"\n"

    def text(self, words: str) -> bytes:
        return self._line({"content": words})

    def call(self, action: object, name: str = "act") -> bytes:
        return self._line({"tool_calls": [{"function": {"name": name, "arguments": action}}]})

    def end(self, why: str = "call", *, usage: bool = True) -> bytes:
        reason = "length" if why == "length" else "stop"
        tokens = {"prompt_eval_count": 812, "eval_count": 34} if usage else {}
        return self._line({}, done=True, done_reason=reason, **tokens)

    def error(self, message: str, **more: Any) -> object:
        return {"error": message}

    def request(self, body: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bool, bool]:
        messages = body["messages"]
        turns = [(one["role"], one["content"]) for one in messages[1:]]
        tools = [tool["function"]["name"] for tool in body.get("tools", [])]
        return messages[0]["content"], turns, tools == ["act"], "format" in body


VOICES: list[Voice] = [Voice(), Anthropic(), Google(), OpenRouter(), Ollama()]


@dataclass(frozen=True)
class Put:
    """A request as a server got it."""

    line: str
    headers: dict[str, str]
    body: dict[str, Any]


def read_request(data: bytes) -> Put:
    top, _, body = data.partition(b"\r\n\r\n")
    first, *rest = top.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in rest)
    lowered = {name.lower(): value for name, value in headers.items()}
    return Put(first, lowered, json.loads(body))
