"""Models that propose actions: one small interface, whatever is behind it.

Importing this loads no client library; `load` neither, a first `decide` does.
"""

from __future__ import annotations

from runtime.providers.base import (
    KINDS,
    Answer,
    Facts,
    Kind,
    Message,
    Prompt,
    Provider,
    ProviderError,
    Usage,
)
from runtime.providers.checking import check
from runtime.providers.registry import Status, configured, describe, load, warm
from runtime.providers.schema import schema_for_prompt
from runtime.providers.script import check_script

__all__ = [
    "KINDS",
    "Answer",
    "Facts",
    "Kind",
    "Message",
    "Prompt",
    "Provider",
    "ProviderError",
    "Status",
    "Usage",
    "check",
    "check_script",
    "configured",
    "describe",
    "load",
    "schema_for_prompt",
    "warm",
]
