"""Providers of other packages: an entry point of the group `m31a.providers` to a scheme.

Its value is a function `(spec, settings) -> Provider`. Such code runs inside the worker, so it is
trusted as far as the operator who installed it trusts it; what it answers is not: it stays within
the bounds of the call, and its action goes the same way as everybody's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points

from runtime.core.errors import BadInput, M31AError
from runtime.providers import wording
from runtime.providers.base import (
    KINDS,
    MOST_TOKENS,
    Answer,
    Prompt,
    Provider,
    ProviderError,
    Usage,
    cancelled,
    too_large,
)
from runtime.providers.calling import MAX_MODEL_NAME, CallerFailed

GROUP = "m31a.providers"


def schemes() -> list[str]:
    """The schemes that other packages bring."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def load(scheme: str, spec: str, settings: Mapping[str, str]) -> Provider | None:
    """The provider of that scheme, if some package has it. Raises `BadInput` where it fails."""
    points = list(entry_points(group=GROUP, name=scheme))
    if not points:
        return None
    if len({point.value for point in points}) > 1:
        raise _bad(scheme, "is brought by more than one package", "Remove all but one.")
    return Guarded(spec, _make(points[0], spec, settings))


def _make(point: EntryPoint, spec: str, settings: Mapping[str, str]) -> Provider:
    try:
        made = point.load()(spec, dict(settings))
    except M31AError:
        raise
    except Exception as error:
        remedy = f"Mend or remove the package that brings {point.value}."
        raise _bad(
            point.name, f"cannot be loaded: {type(error).__name__}: {error}", remedy
        ) from error
    if not callable(getattr(made, "decide", None)):
        raise _bad(point.name, "has no `decide`", f"Mend {point.value}.")
    return made  # type: ignore[no-any-return]


def _bad(scheme: str, what: str, remedy: str) -> BadInput:
    return BadInput(f"The provider {scheme}: {what}.", remedy=remedy, field="provider")


class Guarded:
    """A provider of others: whatever it does, its caller sees an `Answer` or a `ProviderError`."""

    def __init__(self, spec: str, inner: Provider) -> None:
        self.spec = spec
        self.where = f"A package of its own: {type(inner).__module__}."
        self._inner = inner

    def decide(
        self,
        prompt: Prompt,
        *,
        ordinal: int,
        task_key: str,
        on_text: Callable[[str], None],
        cancel: threading.Event,
        timeout: float,
        max_bytes: int,
    ) -> Answer:
        """Ask it; see `Provider.decide`. Text beyond `max_bytes` ends the call."""
        shown: list[str] = []
        room = max_bytes
        fault: Exception | None = None  # of the caller; a package may swallow what it is told by

        def show(text: str) -> None:
            nonlocal room, fault
            room -= len(text.encode("utf-8", "replace"))
            if room < 0:
                raise too_large(max_bytes, "".join(shown))
            shown.append(text)
            try:
                on_text(text)
            except Exception as error:
                fault = fault or error
                raise CallerFailed(error) from error

        if cancel.is_set():
            raise cancelled("")
        try:
            answer = self._inner.decide(
                prompt,
                ordinal=ordinal,
                task_key=task_key,
                on_text=show,
                cancel=cancel,
                timeout=timeout,
                max_bytes=max_bytes,
            )
            checked = self._checked(answer, "".join(shown))
        except Exception as error:
            if fault is not None:
                raise fault from None
            if isinstance(error, ProviderError):
                raise _within_bounds(error, "".join(shown)) from None
            raise ProviderError(
                "malformed",
                f"The provider {self.spec[:100]} failed: {type(error).__name__}.",
                partial="".join(shown),
            ) from error
        if fault is not None:
            raise fault
        return checked

    def _checked(self, answer: object, shown: str) -> Answer:
        """The answer, if it is one: `text` is exactly what was shown."""
        sound = (
            isinstance(answer, Answer)
            and answer.text == shown
            and (answer.action is None) != (answer.error is None)
            and _is_usage(answer.usage)
            and isinstance(answer.model, str)
            and len(answer.model) <= MAX_MODEL_NAME
            and answer.model.isprintable()
        )
        if not sound or not isinstance(answer, Answer):
            raise ProviderError(
                "malformed",
                f"The provider {self.spec[:100]} gave what is no answer.",
                partial=shown,
            )
        return answer


def _is_usage(usage: object) -> bool:
    """Whether these are counts of tokens."""
    if not isinstance(usage, Usage):
        return False
    counts = (usage.input_tokens, usage.output_tokens)
    return all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts)


def _within_bounds(error: ProviderError, shown: str) -> ProviderError:
    """A failure as it may be journaled, whatever its fields hold; `partial` is what was shown."""
    return ProviderError(
        error.kind if isinstance(error.kind, str) and error.kind in KINDS else "malformed",
        wording.clean(str(error.message)) or "It gave no reason.",
        retry_after=wording.seconds(error.retry_after),
        retryable=bool(error.retryable),
        partial=shown,
        began=bool(error.began),
        remedy=wording.clean(str(error.remedy)),
    )
