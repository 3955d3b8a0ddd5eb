"""The environment of the server's own processes: its settings and the providers', no more."""

from __future__ import annotations

from collections.abc import Mapping

KEPT = frozenset({"PATH", "LANG", "HOME", "TZ"})
PREFIXES = (
    "M31A_",
    "OPENAI_",
    "ANTHROPIC_",
    "GEMINI_",
    "GOOGLE_API_KEY",
    "GOOGLE_BASE_URL",
    "OLLAMA_",
    "OPENROUTER_",
)
"""Our settings, and the variables by which providers are configured."""


def environment(outer: Mapping[str, str], **settings: str) -> dict[str, str]:
    """What a child sees of the environment around it, with `settings` on top."""
    kept = {
        name: value for name, value in outer.items() if name in KEPT or name.startswith(PREFIXES)
    }
    return kept | settings
