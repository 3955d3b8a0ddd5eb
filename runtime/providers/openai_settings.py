"""The settings of `openai:MODEL`, read and checked without loading any client library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from runtime.core.errors import BadInput

CLOUD = "https://api.openai.com/v1"
MAX_MODEL = 200
Mode = Literal["tools", "json"]


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    """Where the server is, which model it shall run, and how it gives actions."""

    model: str
    base_url: str
    key: str = field(repr=False)
    """The empty string for servers that need none."""
    mode: Mode
    """`tools`: as a call of the tool `act`; `json`: as JSON text bound to a schema."""


def read(model: str, env: Mapping[str, str]) -> OpenAISettings:
    """The settings for a model. Raises `BadInput` naming the one that is missing or wrong."""
    base_url = env.get("OPENAI_BASE_URL", "").strip()
    key = env.get("OPENAI_API_KEY", "").strip()
    if not base_url and not key:
        raise BadInput(
            f"Nothing says where openai:{model} is.",
            remedy="Set OPENAI_BASE_URL to an OpenAI-compatible server (for example "
            "http://127.0.0.1:11434/v1), or OPENAI_API_KEY for the cloud.",
            field="OPENAI_BASE_URL",
        )
    if len(model) > MAX_MODEL or not model.isprintable():
        raise BadInput(
            f"A model's name is printable and at most {MAX_MODEL} characters long.",
            remedy="Give the name that the server lists, as openai:MODEL.",
            field="provider",
        )
    if not key.isascii() or not key.isprintable():
        raise BadInput(
            "OPENAI_API_KEY holds characters that no key has.",
            remedy="Set it to the key alone, without blanks or quotes.",
            field="OPENAI_API_KEY",
        )
    return OpenAISettings(model, _base_url(base_url or CLOUD), key, _mode(env))


def _base_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        valid = valid and (parts.port is None or parts.port > 0)
        bare = parts.username is None and not parts.query and not parts.fragment
    except ValueError:
        valid = bare = False
    if not valid or not bare or not text.isprintable():
        raise BadInput(
            "OPENAI_BASE_URL is not the URL of a server.",
            remedy="Give http:// or https://, host and path, without user, query or fragment; "
            "a key belongs in OPENAI_API_KEY.",
            field="OPENAI_BASE_URL",
        )
    return text.rstrip("/")


def _mode(env: Mapping[str, str]) -> Mode:
    mode = env.get("M31A_OPENAI_MODE", "").strip() or "tools"
    if mode == "tools":
        return "tools"
    if mode == "json":
        return "json"
    raise BadInput(
        f"M31A_OPENAI_MODE is {mode!r}.",
        remedy='Use "tools" or "json".',
        field="M31A_OPENAI_MODE",
    )
