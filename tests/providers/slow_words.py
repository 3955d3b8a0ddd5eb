"""A provider as another package would bring it, about as small as one can be.

`wordy:WHAT` does what its name says: it waits between words, so it looks at its bounds itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from runtime.providers import Answer, Prompt, Provider, ProviderError, Usage


class Wordy:
    """Says words. Written against the public names alone."""

    def __init__(self, spec: str, settings: Mapping[str, str]) -> None:
        self.spec = spec
        self.what = spec.partition(":")[2]

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
        """See `Provider.decide`."""
        end = time.monotonic() + timeout
        said = ""
        if self.what == "crash":
            raise ZeroDivisionError("sk-of-mine")
        if self.what in ("auth", "rate_limit", "overload"):
            raise ProviderError(self.what, "It is as it is.")  # type: ignore[arg-type]
        if self.what == "wild":
            on_text("I begin ")
            error = ProviderError("cut", "x\n\x1b[2J" + "y" * 9000, partial="never said")
            error.kind, error.retry_after = ["auth"], -(10**400)  # type: ignore[assignment]
            raise error
        if self.what in ("half", "most"):
            count = 2.5 if self.what == "half" else 10**30
            return Answer("", {"kind": "verify"}, Usage(count, 1, False), "x")  # type: ignore[arg-type]
        words = {"silent": [], "answer": ["I begin "], "cut": ["I begin "], "lie": [],
                 "odd": [], "deaf": ["word "]}  # fmt: skip
        for word in words.get(self.what, ["word "] * 10_000):
            if cancel.wait(0.001):
                raise ProviderError("cancelled", "As you like.", partial=said)
            if time.monotonic() > end:
                raise ProviderError("timeout", "No time left.", partial=said)
            said += word
            try:
                on_text(word)
            except Exception:
                if self.what != "deaf":
                    raise
        if self.what == "cut":
            raise ProviderError("cut", "It broke off.", partial=said)
        if self.what == "silent":
            if cancel.wait(max(end - time.monotonic(), 0)):
                raise ProviderError("cancelled", "As you like.")
            raise ProviderError("timeout", "No time left.")
        if self.what == "lie":
            return Answer("never said", {"kind": "verify"}, Usage(-1, 0, False), "x")
        if self.what == "odd":
            return Answer("", {"kind": "verify"}, None, 7)  # type: ignore[arg-type]
        return Answer(said, {"kind": "verify"}, Usage(3, 2, False), "wordy")


class Stage:
    """How the contract kit makes it do things."""

    def __init__(self, installed: Callable[..., Provider]) -> None:
        self._load = installed

    def answering(self) -> Provider:
        return self._load("wordy:answer")

    def silent(self) -> Provider:
        return self._load("wordy:silent")

    def endless(self) -> Provider:
        return self._load("wordy:endless")

    def cut(self) -> Provider:
        return self._load("wordy:cut")

    def failing(self, kind: str) -> Provider:
        return self._load(f"wordy:{kind}")

    def is_free(self) -> bool:
        return True
