"""From what the client library raises to one of our kinds of failure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic_ai import exceptions as library

from runtime.providers.base import Kind, ProviderError
from runtime.providers.wire import Wire

MAX_DETAIL = 300
MAX_RETRY_AFTER = 86_400
# First match counts: the library's categories before the HTTP status.
_CATEGORIES: tuple[tuple[type[Exception], Kind], ...] = (
    (library.ModelContextWindowExceededError, "context_length"),
    (library.ModelAuthenticationError, "auth"),
    (library.ModelRateLimitError, "rate_limit"),
    (library.ModelQuotaExceededError, "rate_limit"),
    (library.ModelRequestTimeout, "timeout"),
    (library.ModelUnavailableError, "overload"),
    (library.ModelServerError, "overload"),
    (library.ModelRequestRejectedError, "bad_request"),
    (library.ContentFilterError, "refusal"),
    (library.UnexpectedModelBehavior, "malformed"),
)
_TEXTS: dict[Kind, str] = {
    "auth": "The model server refused the key.",
    "rate_limit": "The model server says that its limit is reached.",
    "timeout": "The model server did not answer in time.",
    "overload": "The model server failed or has too much to do.",
    "context_length": "The prompt is longer than the model's context.",
    "refusal": "The model refused to answer.",
    "malformed": "The model server sent what is no chat completion.",
    "cut": "The model's answer broke off.",
    "unreachable": "The model server cannot be reached.",
    "size": "The model's response is larger than allowed.",
    "bad_request": "The model server rejected the request.",
}
_REMEDIES: dict[Kind, str] = {
    "auth": "Check OPENAI_API_KEY.",
    "unreachable": "Check OPENAI_BASE_URL, and that the server runs.",
    "bad_request": "Check the model's name, OPENAI_BASE_URL, and M31A_OPENAI_MODE.",
}


def explain(error: Exception, wire: Wire, *, secret: str, partial: str) -> ProviderError:
    """The typed failure for what a call raised. `secret` never shows in it."""
    kind = _kind(error, wire)
    retry_after = getattr(error, "retry_after", None)
    return ProviderError(
        kind,
        " ".join(filter(None, (_TEXTS[kind], _detail(error, secret)))),
        retry_after=_seconds(retry_after) if kind in ("rate_limit", "overload") else None,
        partial=partial,
        remedy=_REMEDIES.get(kind, ""),
    )


def _kind(error: Exception, wire: Wire) -> Kind:
    if wire.fault is not None:
        return wire.fault
    if isinstance(error, library.ModelConnectionError):
        return _connection_kind(error, wire)
    for category, kind in _CATEGORIES:
        if isinstance(error, category):
            return kind
    if isinstance(error, library.ModelHTTPError):
        return _status_kind(error.status_code)
    if getattr(error.__cause__, "status_code", 400) < 400:
        return "bad_request"  # a redirect, which is never followed
    if isinstance(error, library.ModelAPIError) and error.__cause__ is None:
        return "cut"  # the library's word for a stream without a finish reason
    return "malformed"


def _connection_kind(error: library.ModelConnectionError, wire: Wire) -> Kind:
    if error.phase in ("connect", "pool"):
        return "unreachable"
    if isinstance(error, library.ModelTimeoutError):
        return "timeout"
    return "cut"


def _status_kind(status: int) -> Kind:
    if status >= 500:
        return "overload"
    return "timeout" if status == 408 else "bad_request"


def _seconds(value: object) -> int | None:
    if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return min(math.ceil(value), MAX_RETRY_AFTER)


def _detail(error: Exception, secret: str) -> str:
    """What the server itself said, on one line, bounded and without the key."""
    status = f"status {error.status_code}" if isinstance(error, library.ModelHTTPError) else ""
    body = getattr(error, "body", None)
    said = body.get("message", "") if isinstance(body, Mapping) else body
    text = " ".join(said.split()) if isinstance(said, str) else ""
    if secret:
        text = text.replace(secret, "[key]")
    shown = "".join(character if character.isprintable() else "?" for character in text)
    shown = shown if len(shown) <= MAX_DETAIL else shown[:MAX_DETAIL] + "…"
    detail = ": ".join(filter(None, (status, shown)))
    return f"It said: {detail}" if detail else ""
