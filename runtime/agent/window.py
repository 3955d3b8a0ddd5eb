"""How much a model may be told, in letters, and what the repository itself tells it."""

from __future__ import annotations

from django.conf import settings

from runtime.budgets import price
from runtime.core import letters
from runtime.core.errors import Unavailable
from runtime.secrets import redactor
from runtime.workspaces.space import RunSpace

UNKNOWN_TOKENS = 32_000
"""The window of a model of which nobody knows it."""
SCHEMA_TOKENS = 2000
"""What the description of the actions takes beside the prompt."""
LEAST = 4000
INSTRUCTIONS = ("AGENTS.md",)
MAX_INSTRUCTIONS = 64 << 10


def room(spec: str, asked: int = 0, *, squeezed: bool = False) -> int:
    """The bound of a prompt for a provider's specification, in letters (see `core.letters`).

    `asked`: the tokens of context that its server is asked for, 0 where that is not said.
    `squeezed`: the server found a prompt too long; half must do.
    """
    most = int(settings.M31A.CONTEXT_CHARACTERS)
    if not spec.startswith("scripted:"):
        tokens = _tokens(spec, asked)
        answer = min(settings.M31A.OUTPUT_TOKENS, tokens // 4)
        left = (tokens - answer - SCHEMA_TOKENS) * letters.PER_TOKEN
        most = min(most, max(LEAST, left))
    return max(LEAST, most // 2) if squeezed else most


def _tokens(spec: str, asked: int) -> int:
    return int(settings.M31A.CONTEXT_TOKENS) or asked or price(spec).window or UNKNOWN_TOKENS


def instructions(space: RunSpace, base: str) -> str:
    """The repository's own instructions, as the run began with them; nothing where it has none."""
    objects = space.repository.objects
    try:
        data = objects.blob(objects.tree_of(base), INSTRUCTIONS)
    except Unavailable:
        return ""
    text = (data or b"")[:MAX_INSTRUCTIONS].decode("utf-8", "replace").replace("\0", "\ufffd")
    told = redactor().text(text).strip()
    if data and len(data) > MAX_INSTRUCTIONS:
        told += f"\n[… {len(data) - MAX_INSTRUCTIONS} bytes left out here …]"
    return told
