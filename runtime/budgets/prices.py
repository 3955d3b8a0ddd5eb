"""What a model's tokens cost, and how many it takes: from a maintained table, without a network.

A model that the table does not know is priced by the settings, and whatever comes of that is marked
as estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.conf import settings

from .table import MICRO

_VENDORS = {"openai", "anthropic", "google", "openrouter"}
_FREE = {"ollama"}
"""Models of one's own machines."""


@dataclass(frozen=True, slots=True)
class Price:
    """A model's prices. `window` is its context in tokens, 0 where nobody knows; `estimated`: the
    prices are those of the settings."""

    window: int = 0
    estimated: bool = False
    free: bool = False
    found: Any = None
    """Provider and model of the table."""

    def of(self, input_tokens: int, output_tokens: int) -> int:
        """What a call costs, in micro-units, rounded up."""
        if self.free or not (input_tokens or output_tokens):
            return 0
        if self.found is not None:
            return _from_table(self.found, input_tokens, output_tokens)
        fixed: int = (
            settings.M31A.PRICE_INPUT * input_tokens + settings.M31A.PRICE_OUTPUT * output_tokens
        )
        return -(-fixed // 1_000_000)


def _from_table(found: Any, input_tokens: int, output_tokens: int) -> int:
    from genai_prices import Usage

    provider, model = found
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    made = model.calc_price(usage, provider, genai_request_timestamp=datetime.now(UTC))
    micro = made.total_price * MICRO
    return int(micro) + int(micro != int(micro))


@lru_cache(maxsize=64)
def price(spec: str) -> Price:
    """The prices behind a provider's specification. The table is loaded when it is first needed."""
    scheme, _, name = spec.partition(":")
    if scheme == "scripted":
        return Price(estimated=True)
    if scheme == "cli":
        name = name.partition(":")[2]
    found = _find(scheme, name) if name else None
    if found is None:
        return Price(free=scheme in _FREE, estimated=scheme not in _FREE)
    window = int(found[1].context_window or 0)
    return Price(window=window, free=scheme in _FREE, found=found)


def _find(scheme: str, name: str) -> Any:
    from genai_prices.data_snapshot import get_snapshot

    snapshot = get_snapshot()
    for provider in (scheme, None) if scheme in _VENDORS else (None,):
        try:
            found = snapshot.find_provider_model(name, None, provider, None)
            # Some are listed, and free or without any price: then nobody knows.
            found[1].calc_price(_one(), found[0], genai_request_timestamp=datetime.now(UTC))
        except (LookupError, ValueError):
            continue
        return found
    return None


def _one() -> Any:
    from genai_prices import Usage

    return Usage(input_tokens=1, output_tokens=1)
