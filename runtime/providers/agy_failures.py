"""The failures of AGY, in their order: cancelled, out of time, exit status, JSON, status, output."""

from __future__ import annotations

import re
from typing import Protocol

from runtime.providers.agy_contract import LONGEST_ARGUMENT, Envelope
from runtime.providers.base import Kind, ProviderError
from runtime.providers.wording import clean
from runtime.sandbox import Result

_SHOWN = 300
_SAYS: tuple[tuple[re.Pattern[str], Kind, bool], ...] = (
    (re.compile(r"\b429\b|rate.?limit|quota|RESOURCE_EXHAUSTED", re.I), "rate_limit", True),
    (re.compile(r"\b50[0234]\b|\b529\b|overloaded|UNAVAILABLE", re.I), "overload", True),
    (
        re.compile(r"\b401\b|unauthenticated|not logged in|sign.?in|authenticat|log ?in", re.I),
        "auth",
        False,
    ),
)
_SIGN_IN = "Sign AGY in with HOME set to the folder of M31A_AGY_HOME, and name that folder there."


class Bounds(Protocol):
    """What is asked of a call's bounds here."""

    max_bytes: int

    @property
    def text(self) -> str:
        """All that was handed on."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        ...


def cancelled(what: str, partial: str) -> ProviderError:
    """The caller did not want it any more."""
    return ProviderError("cancelled", f"{what} cancelled", partial=partial)


def check_end(result: Result, bounds: Bounds, what: str) -> None:
    """Raise what the end of the process amounts to, unless that was a good one."""
    if result.cancelled:
        raise cancelled(what, bounds.text)
    if result.timed_out:
        raise _too_slow(what, bounds.text)
    if result.failure is not None:
        raise ProviderError("unreachable", f"AGY did not run: {result.failure}", retryable=False)
    if result.status != 0 or result.limit:
        raise _bad_exit(result, bounds.text)
    if result.truncated:
        raise too_much(bounds.max_bytes, bounds.text)


def check_stream_end(result: Result, bounds: Bounds, envelope: Envelope | None) -> None:
    """The same for a text stream, where success must have been said as well."""
    what = "provider stream"
    if result.cancelled:
        raise cancelled(what, bounds.text)
    if result.timed_out or bounds.is_over:
        raise _too_slow(what, bounds.text)
    if result.status != 0 or envelope is None or envelope.status != "SUCCESS":
        unclear: Kind = "cut" if envelope is None and result.status == 0 else "overload"
        known = _classed(_said(result))
        raise ProviderError(
            known[0] if known else unclear,
            f"AGY stream failed with status {_status(result)}: {_said(result)}",
            partial=bounds.text,
        )


def no_json(fault: object, partial: str) -> ProviderError:
    """Standard output is not what was agreed."""
    return ProviderError(
        "malformed", f"AGY's output cannot be read: {clean(str(fault))}", partial=partial
    )


def bad_status(status: str, partial: str) -> ProviderError:
    """The envelope itself says that it failed."""
    return ProviderError(
        "overload",
        f"AGY status was {clean(status)}",
        retryable=False,
        partial=partial,
        began=True,
    )


def no_output(partial: str) -> ProviderError:
    """A success without an action: as where a tool of its own was refused."""
    return ProviderError(
        "malformed", "AGY success response did not include structured_output", partial=partial
    )


def too_long(size: int) -> ProviderError:
    """The prompt does not fit into one argument."""
    return ProviderError(
        "context_length",
        f"The prompt has {size} bytes; AGY takes at most {LONGEST_ARGUMENT} as an argument.",
        remedy="Install AGY 1.2 or newer, which takes it on standard input, or lower "
        "M31A_CONTEXT_CHARACTERS.",
    )


def too_much(most: int, partial: str, *, stream: bool = False) -> ProviderError:
    """More output than the caller takes."""
    what = "AGY stream" if stream else "AGY"
    return ProviderError(
        "size", f"{what} exceeded the configured output limit of {most} bytes", partial=partial
    )


def _too_slow(what: str, partial: str) -> ProviderError:
    return ProviderError("timeout", f"{what} exceeded the local timeout", partial=partial)


def _bad_exit(result: Result, partial: str) -> ProviderError:
    said = _said(result)
    known = _classed(said)
    kind, waits = known or ("overload", False)
    return ProviderError(
        kind,
        f"AGY failed with status {_status(result)}: {said}",
        retryable=waits,
        partial=partial,
        began=known is None,
        remedy=_SIGN_IN if kind == "auth" else "",
    )


def _said(result: Result) -> str:
    """Both streams, bounded, on one line."""
    parts = ((name, clean(result.text(name), limit=_SHOWN)) for name in ("stderr", "stdout"))
    return " ".join(f"{name}={text}" for name, text in parts)


def _status(result: Result) -> str:
    return "None" if result.status is None else f"Some({result.status})"


def _classed(said: str) -> tuple[Kind, bool] | None:
    """The kind of failure that the program's words tell, and whether waiting helps."""
    for pattern, kind, waits in _SAYS:
        if pattern.search(said):
            return kind, waits
    return None
