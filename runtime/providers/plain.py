"""One call over plain HTTP, for servers whose own API is small enough to be spoken without a library.

Google's SDK would bring a second HTTP stack and eight packages for one request; Ollama's own API
tells what its OpenAI-compatible one hides (the size of the context, and a schema that binds).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import httpx2
import orjson

from runtime.providers import wire, wording
from runtime.providers.base import Answer, Kind, Prompt, ProviderError, too_large
from runtime.providers.calling import Call, Heard, conclude
from runtime.providers.vendors import Endpoint

Framing = Literal["sse", "lines"]


class BadEvent(Exception):
    """An event that no server of this kind sends."""


_UNREADABLE = (BadEvent, TypeError, ValueError, AttributeError, LookupError)
"""What a dialect trips over in JSON of another shape than its servers send."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is posted: a path below the endpoint's URL, and JSON."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """What a server's own error amounts to."""

    kind: Kind
    said: str = ""
    retry_after: object = None
    lasting: bool = False


class Dialect(Protocol):
    """How one kind of server is spoken to."""

    framing: Framing

    def request(self, endpoint: Endpoint, prompt: Prompt, *, tools: bool) -> Request:
        """The question. Raises `ProviderError` where it cannot be put."""
        ...

    def take(self, event: Mapping[str, Any], heard: Heard) -> str | Fault:
        """The text in an event; all else goes into `heard`. Raises `BadEvent`."""
        ...

    def fault(self, status: int, body: object) -> Fault:
        """What an answer with an error status says; `body` is decoded JSON, or None."""
        ...


async def ask(dialect: Dialect, endpoint: Endpoint, call: Call, *, tools: bool) -> Answer:
    """Put the question once. Raises `ProviderError`, and `CallerFailed` for what `on_text` raised."""
    state = wire.Wire(call.max_bytes)
    request = dialect.request(endpoint, call.prompt, tools=tools)
    try:
        async with wire.client(state, call.timeout) as http:
            return await _stream(dialect, endpoint, request, http, call)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        if state.fault == "size":
            raise too_large(call.max_bytes, call.text) from None
        kind = wire.kind_of(error, state)
        raise wording.failure(kind, endpoint.vendor, partial=call.text, began=state.began) from None
    except ProviderError as error:
        error.began = error.began or state.began
        raise


async def _stream(
    dialect: Dialect, endpoint: Endpoint, request: Request, http: httpx2.AsyncClient, call: Call
) -> Answer:
    heard = Heard()
    posted = http.stream(
        "POST",
        endpoint.base_url + request.path,
        content=orjson.dumps(request.body),
        headers={"Content-Type": "application/json", **request.headers},
    )
    async with posted as response:
        if response.status_code != 200:
            raise _refused(dialect, endpoint, call, response, _json(await response.aread()))
        async for event in _events(response, dialect.framing):
            try:
                found = dialect.take(event, heard)
            except _UNREADABLE:
                raise wording.failure("malformed", endpoint.vendor, partial=call.text) from None
            if isinstance(found, Fault):
                raise _failure(endpoint, call, found)
            call.hear(found)
    return conclude(call, heard)


def _refused(
    dialect: Dialect, endpoint: Endpoint, call: Call, response: httpx2.Response, body: object
) -> ProviderError:
    """What an error status amounts to, whatever its body is made of."""
    try:
        fault = dialect.fault(response.status_code, body)
    except _UNREADABLE:
        fault = Fault(wording.status_kind(response.status_code))
    return _failure(endpoint, call, fault, response)


async def _events(response: httpx2.Response, framing: Framing) -> AsyncIterator[dict[str, Any]]:
    """The JSON objects of a stream. An event without its end is none. Raises `DecodingError`."""
    async for line in _lines(response):
        if framing == "sse":
            if not line.startswith(b"data:"):
                continue
            line = line[5:].strip()
        if not line.strip() or line == b"[DONE]":
            continue
        value = _json(line)
        if not isinstance(value, dict):
            raise httpx2.DecodingError("an event is no JSON object", request=response.request)
        yield value


async def _lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Whole lines as they come; the transport bounds them all together."""
    pending = bytearray()
    async for chunk in response.aiter_raw():
        start = len(pending)
        pending += chunk
        while (end := pending.find(b"\n", start)) >= 0:
            yield bytes(pending[:end])
            del pending[: end + 1]
            start = 0


def _json(data: bytes) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _failure(
    endpoint: Endpoint, call: Call, fault: Fault, response: httpx2.Response | None = None
) -> ProviderError:
    header = response.headers.get("Retry-After") if response is not None else None
    return wording.failure(
        fault.kind,
        endpoint.vendor,
        status=response.status_code if response is not None else None,
        said=fault.said,
        secret=call.secret,
        retry_after=header if header is not None else fault.retry_after,
        lasting=fault.lasting,
        partial=call.text,
    )
