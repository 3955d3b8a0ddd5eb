"""Model servers that are reached over HTTP, and their settings. Loads no client library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast, get_args
from urllib.parse import urlsplit

from runtime.core.errors import BadInput

MAX_MODEL = 200
OUTPUT, OUTPUT_TOKENS = "M31A_OUTPUT_TOKENS", 16_384
Mode = Literal["auto", "tools", "json"]
MODES: tuple[str, ...] = get_args(Mode)
NO_KEY = "none"
"""What a client library is given where there is no key: it insists on one."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """One scheme of specifications, and the names of its settings."""

    scheme: str
    cloud: str
    """Where its models are, unless the setting `url` says otherwise."""
    url: str
    keys: tuple[str, ...]
    """Names for the key; the first that is set counts."""
    needs_key: bool = True
    """Whether nothing answers at `cloud` without a key."""

    @property
    def mode(self) -> str:
        """The setting for how actions are asked for."""
        return f"M31A_{self.scheme.upper()}_MODE"


VENDORS: dict[str, Vendor] = {
    vendor.scheme: vendor
    for vendor in (
        Vendor("openai", "https://api.openai.com/v1", "OPENAI_BASE_URL", ("OPENAI_API_KEY",)),
        Vendor(
            "anthropic", "https://api.anthropic.com", "ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",)
        ),
        Vendor(
            "google",
            "https://generativelanguage.googleapis.com",
            "GOOGLE_BASE_URL",
            ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        ),
        Vendor(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_BASE_URL",
            ("OPENROUTER_API_KEY",),
        ),
        Vendor(
            "ollama",
            "http://127.0.0.1:11434",
            "OLLAMA_BASE_URL",
            ("OLLAMA_API_KEY",),
            needs_key=False,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the server is, which model it shall run, and how it gives actions."""

    vendor: Vendor
    model: str
    base_url: str
    key: str = field(repr=False)
    """The empty string for servers that need none."""
    mode: Mode = "auto"
    """`tools`: as a call of the tool `act`; `json`: as JSON text bound to a schema; `auto`:
    the first, and the second where the model turns out to have no tools."""
    context: int = 0
    """Tokens of context to ask for, where the server wants to be told."""
    longest: int = 0
    """Tokens that an answer may have; 0: as the server has it, which may take no such number."""


def read(vendor: Vendor, model: str, env: Mapping[str, str]) -> Endpoint:
    """The endpoint for a model. Raises `BadInput` naming the setting that is missing or wrong."""
    base_url = env.get(vendor.url, "").strip()
    key = next((value for name in vendor.keys if (value := env.get(name, "").strip())), "")
    if not base_url and not key and vendor.needs_key:
        raise BadInput(
            f"Nothing says where {vendor.scheme}:{model} is.",
            remedy=_where(vendor),
            field=vendor.url if vendor.scheme == "openai" else vendor.keys[0],
        )
    if len(model) > MAX_MODEL or not model.isprintable():
        raise BadInput(
            f"A model's name is printable and at most {MAX_MODEL} characters long.",
            remedy=f"Give the name that the server lists, as {vendor.scheme}:MODEL.",
            field="provider",
        )
    if model and vendor.scheme == "openrouter" and "/" not in model.strip("/"):
        raise BadInput(
            f"openrouter:{model} lacks the name of its maker.",
            remedy="Write openrouter:MAKER/MODEL, as the list of models does.",
            field="provider",
        )
    if not key.isascii() or not key.isprintable():
        raise BadInput(
            f"{' or '.join(vendor.keys)} holds characters that no key has.",
            remedy="Set it to the key alone, without blanks or quotes.",
            field=vendor.keys[0],
        )
    return Endpoint(
        vendor,
        model,
        _base_url(vendor, base_url or vendor.cloud),
        key,
        _mode(vendor, env),
        _context(env) if vendor.scheme == "ollama" else 0,
        _longest(vendor, env, own=bool(base_url)),
    )


def is_set(vendor: Vendor, env: Mapping[str, str]) -> bool:
    """Whether the settings name this vendor at all."""
    return any(env.get(name, "").strip() for name in (vendor.url, *vendor.keys))


def _where(vendor: Vendor) -> str:
    key = " or ".join(vendor.keys)
    if vendor.scheme == "openai":
        return (
            f"Set {vendor.url} to an OpenAI-compatible server (for example "
            f"http://127.0.0.1:11434/v1), or {key} for the cloud."
        )
    return f"Set {key} in the environment or the file of keys, or {vendor.url} to another server."


def _base_url(vendor: Vendor, text: str) -> str:
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        valid = valid and (parts.port is None or parts.port > 0)
        bare = parts.username is None and not parts.query and not parts.fragment
    except ValueError:
        valid = bare = False
    if not valid or not bare or not text.isprintable():
        raise BadInput(
            f"{vendor.url} is not the URL of a server.",
            remedy="Give http:// or https://, host and path, without user, query or fragment; "
            f"a key belongs in {vendor.keys[0]}.",
            field=vendor.url,
        )
    return text.rstrip("/")


def _mode(vendor: Vendor, env: Mapping[str, str]) -> Mode:
    mode = env.get(vendor.mode, "").strip() or "auto"
    if mode not in MODES:
        raise BadInput(
            f"{vendor.mode} is {mode!r}.",
            remedy='Use "auto", "tools" or "json".',
            field=vendor.mode,
        )
    return cast(Mode, mode)


_MAY_REFUSE = frozenset({"openai", "openrouter"})
CONTEXT = "M31A_OLLAMA_CONTEXT"
_CONTEXTS = (16_384, 512, 4_000_000)
"""Tokens: the default, the least and the most."""


def _longest(vendor: Vendor, env: Mapping[str, str], *, own: bool) -> int:
    """The same bound as is reserved of the run's budgets before a call. A server of one's `own` may
    refuse a number that is more than its window, so it is told only what somebody has set."""
    given = env.get(OUTPUT, "").strip()
    if not given and (vendor.scheme == "ollama" or (own and vendor.scheme in _MAY_REFUSE)):
        return 0
    text = given or str(OUTPUT_TOKENS)
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise BadInput(
            f"{OUTPUT} is not a number of tokens.",
            remedy=f"Give a number such as {OUTPUT_TOKENS}.",
            field=OUTPUT,
        )
    return int(text)


def _context(env: Mapping[str, str]) -> int:
    default, least, most = _CONTEXTS
    text = env.get(CONTEXT, "").strip() or str(default)
    if not text.isascii() or not text.isdigit() or not least <= int(text[:9]) <= most:
        raise BadInput(
            f"{CONTEXT} is {text[:40]!r}.",
            remedy=f"Give the number of tokens, {least} to {most}.",
            field=CONTEXT,
        )
    return int(text)
