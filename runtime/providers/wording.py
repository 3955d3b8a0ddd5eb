"""What people are told when a model server fails: one text and one remedy to a kind of failure."""

from __future__ import annotations

import math
import time
from email.utils import parsedate_to_datetime

from runtime.providers.base import Kind, ProviderError
from runtime.providers.vendors import Vendor

MAX_DETAIL = 300
MAX_RETRY_AFTER = 86_400
_TEXTS: dict[Kind, str] = {
    "auth": "The model server refused the key.",
    "rate_limit": "The model server says that its limit is reached.",
    "timeout": "The model server did not answer in time.",
    "overload": "The model server failed or has too much to do.",
    "context_length": "The prompt is longer than the model's context.",
    "refusal": "The model refused to answer.",
    "malformed": "The model server sent what is no answer of a model.",
    "cut": "The model's answer broke off.",
    "unreachable": "The model server cannot be reached.",
    "size": "The model's response is larger than allowed.",
    "bad_request": "The model server rejected the request.",
}


def failure(
    kind: Kind,
    vendor: Vendor,
    *,
    status: int | None = None,
    said: object = "",
    secret: str = "",
    retry_after: object = None,
    lasting: bool = False,
    partial: str = "",
    began: bool = False,
) -> ProviderError:
    """The typed failure of a call.

    `said` is the server's own text: shown on one line, bounded, and without `secret`.
    `lasting` says that waiting will not help, though it does for others of this kind; `began` that
    the model may have been at work.
    """
    waits = kind in ("rate_limit", "overload")
    return ProviderError(
        kind,
        " ".join(filter(None, (_TEXTS[kind], _detail(status, said, secret)))),
        retry_after=seconds(retry_after) if waits else None,
        retryable=False if lasting else None,
        partial=partial,
        began=began,
        remedy=_remedy(kind, vendor),
    )


def status_kind(status: int) -> Kind:
    """What an HTTP status alone says."""
    if status in (401, 403):
        return "auth"
    if status in (402, 429):
        return "rate_limit"
    if status in (408, 504):
        return "timeout" if status == 408 else "overload"
    return "overload" if status >= 500 else "bad_request"


def seconds(value: object) -> int | None:
    """A `Retry-After` (a number or a date) as whole seconds within bounds; None for neither."""
    if isinstance(value, str):
        value = _from_text(value)
    if not isinstance(value, int | float) or not 0 <= value < math.inf:
        return None
    return math.ceil(min(value, MAX_RETRY_AFTER))


def _from_text(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0)
    except (ValueError, OverflowError):
        return None


def clean(text: str, secret: str = "", limit: int = MAX_DETAIL) -> str:
    """Text of others on one line, printable, bounded and without a key."""
    if secret:
        text = text.replace(secret, "[key]")
    line = " ".join(text[: 64 * limit].split())
    shown = "".join(character if character.isprintable() else "?" for character in line)
    return shown if len(shown) <= limit else shown[:limit] + "…"


def _remedy(kind: Kind, vendor: Vendor) -> str:
    if kind == "auth":
        return f"Check {' or '.join(vendor.keys)}."
    if kind == "unreachable":
        return f"Check {vendor.url}, and that the server runs."
    if kind == "bad_request":
        return f"Check the model's name, {vendor.url}, and {vendor.mode}."
    return ""


def _detail(status: int | None, said: object, secret: str) -> str:
    number = f"status {status}" if status is not None else ""
    shown = clean(said, secret) if isinstance(said, str) else ""
    detail = ": ".join(filter(None, (number, shown)))
    return f"It said: {detail}" if detail else ""
