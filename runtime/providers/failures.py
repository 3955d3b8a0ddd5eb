"""From what the client library raises to one of our kinds of failure."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_ai import exceptions as library

from runtime.providers import wording
from runtime.providers.base import Kind, ProviderError
from runtime.providers.vendors import Vendor
from runtime.providers.wire import Wire

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
    (library.UserError, "bad_request"),
    (library.UnexpectedModelBehavior, "malformed"),
)


def explain(
    error: Exception, wire: Wire, vendor: Vendor, *, secret: str, partial: str
) -> ProviderError:
    """The typed failure for what a call raised. `secret` never shows in it."""
    status = error.status_code if isinstance(error, library.ModelHTTPError) else None
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    said = inner.get("message", "") if isinstance(inner, Mapping) else inner
    if isinstance(error, library.UserError):
        said = str(error)
    return wording.failure(
        _kind(error, wire),
        vendor,
        status=status,
        said=said,
        secret=secret,
        retry_after=getattr(error, "retry_after", None),
        lasting=isinstance(error, library.ModelQuotaExceededError),
        partial=partial,
        began=wire.began,
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
        return wording.status_kind(error.status_code)
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
