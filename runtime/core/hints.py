"""Commands in the product's own messages, written so that they work where somebody types them."""

from __future__ import annotations

import re

PROGRAM = "python3 manage.py"
"""Works from a fresh clone, with no environment made and nothing on the search path."""
_SHORT = re.compile(r"`(?:m31a (up|demo)\b|(m31a\b|up\b|demo\b))([^`\n]*)`")


def typed(sentence: str) -> str:
    """The sentence with each command between backticks as it is typed: `m31a status` becomes
    `python3 manage.py m31a status`, `up` becomes `python3 manage.py up`."""
    return _SHORT.sub(
        lambda found: f"`{PROGRAM} {found.group(1) or found.group(2)}{found.group(3)}`", sentence
    )
