"""When two texts, or two proposals, say the same: for noticing that somebody goes round in circles.

Blanks (also where there are none in the other, and those without width), the order of fields, and
what changes by itself from one time to the next (moments, spans, addresses, identifiers, numbers of
lines and processes) make no difference. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from . import canonical
from .digests import sha256

LONG = 64 << 10
"""Characters of a text that are looked at for what makes no difference; of a longer one the rest
counts as it is."""
LENGTH = 16
_BLANKS = re.compile(
    r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_CHANGING = re.compile(
    r"""
      \d{4}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?  # a moment
    | \b\d\d?:\d\d:\d\d(?:[.,]\d+)?                                                # a time
    | \b\d+(?:[.,]\d+)?\ ?(?:ns|us|µs|ms|s|sec|secs|seconds?|min|minutes?)\b         # a span
    | \b0x[0-9a-f]+\b                                                              # an address
    | \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b                               # a UUID
    | \b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b                             # a hash
    | \b(?:line|lines|pid|process|port|attempt)\ \#?\d+                            # a number of one
    | (?<=\.[a-z]):\d+(?::\d+)?|(?<=\.[a-z]{2}):\d+(?::\d+)?|(?<=\.[a-z]{3}):\d+(?::\d+)? # file:line
    """,
    re.VERBOSE | re.IGNORECASE,
)


def of_text(text: str) -> str:
    """The same for observations that say the same."""
    looked, rest = text[:LONG], text[LONG:]
    spaced = _BLANKS.sub(" ", looked)  # as the patterns of what changes have it
    settled = _CHANGING.sub("#", spaced).replace(" ", "")
    return sha256(f"{settled}\0{rest}".encode("utf-8", "surrogatepass"))[:LENGTH]


def of_action(body: Mapping[str, Any]) -> str:
    """The same for proposals that differ in blanks, or in the order of their fields, alone."""
    return sha256(canonical.encode(_settled(body)))[:LENGTH]


def _settled(value: Any) -> Any:
    if isinstance(value, str):
        return _BLANKS.sub("", value)
    if isinstance(value, Mapping):
        kept = {str(name): _settled(item) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item not in ("", [], None)}
    if isinstance(value, (list, tuple)):
        return [item for item in map(_settled, value) if item not in ("", None)]
    return value
