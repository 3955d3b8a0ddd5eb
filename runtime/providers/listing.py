"""Asking a model server for its models: free, and it proves address, key and name."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

import httpx2
import orjson

from runtime.providers import wire, wording
from runtime.providers.base import ProviderError, too_large
from runtime.providers.calling import Call
from runtime.providers.vendors import Endpoint

MAX_BYTES = 8 << 20
SHOWN = 5
_ANTHROPIC_VERSION = "2023-06-01"


async def look(endpoint: Endpoint, call: Call) -> str:
    """One sentence on the server and the model. Raises `ProviderError` with the remedy."""
    state = wire.Wire(call.max_bytes)
    path, headers = _question(endpoint)
    try:
        async with wire.client(state, call.timeout) as http:
            response = await http.get(endpoint.base_url + path, headers=headers)
            status, body = response.status_code, _json(await response.aread())
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        if state.fault == "size":
            raise too_large(call.max_bytes, "") from None
        raise wording.failure(wire.kind_of(error, state), endpoint.vendor) from None
    return _verdict(endpoint, status, body)


def _question(endpoint: Endpoint) -> tuple[str, dict[str, str]]:
    """The path and the headers; a model is asked for by name where that costs less than a list."""
    name, key = quote(endpoint.model.removeprefix("models/"), safe=""), endpoint.key
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    match endpoint.vendor.scheme:
        case "anthropic":
            headers = {"x-api-key": key, "anthropic-version": _ANTHROPIC_VERSION}
            return f"/v1/models/{name}" if name else "/v1/models?limit=1", headers
        case "google":
            path = f"/v1beta/models/{name}" if name else "/v1beta/models?pageSize=1"
            return path, {"x-goog-api-key": key}
        case "openrouter":
            return "/key", bearer  # its list of models is public and would prove no key
        case "ollama":
            return "/api/tags", bearer
        case _:
            return "/models", bearer


def _verdict(endpoint: Endpoint, status: int, body: object) -> str:
    vendor, model = endpoint.vendor, endpoint.model
    if status == 404 and vendor.scheme == "openai":
        return f"{endpoint.base_url} answers; it has no list of models."
    if status == 404 and model:
        raise ProviderError(
            "bad_request",
            f"{endpoint.base_url} has no model {model}.",
            remedy="Name one that it has.",
        )
    if status != 200 or not isinstance(body, Mapping):
        kind = "malformed" if status == 200 else wording.status_kind(status)
        raise wording.failure(kind, vendor, status=status, said=_said(body), secret=endpoint.key)
    names = _names(body)
    if not model or vendor.scheme not in ("openai", "ollama") or not names:
        return f"{endpoint.base_url} answers."
    if model in names or f"{model}:latest" in names:
        return f"{endpoint.base_url} answers and has {model}."
    some = ", ".join(wording.clean(name, endpoint.key, 60) for name in names[:SHOWN])
    if vendor.scheme == "ollama":
        raise ProviderError(
            "bad_request",
            f"{endpoint.base_url} has no model {model}.",
            remedy=f"Run: ollama pull {model}. It has: {some}.",
        )
    return f"{endpoint.base_url} answers; it does not list {model}, but: {some}."


def _names(body: Mapping[str, object]) -> list[str]:
    """The models of a list, in the form of OpenAI or of Ollama."""
    found = body.get("data", body.get("models"))
    rows = [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
    return [str(one.get("id", one.get("name", ""))) for one in rows]


def _said(body: object) -> object:
    error = body.get("error") if isinstance(body, Mapping) else None
    return error.get("message") if isinstance(error, Mapping) else error


def _json(data: bytes) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
