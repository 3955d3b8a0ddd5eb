"""From a specification such as `openai:MODEL` to the provider behind it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.core.errors import BadInput, M31AError, NotYet
from runtime.providers import openai_settings
from runtime.providers.base import Provider
from runtime.providers.scripted import ScriptedProvider

SETTING = "M31A_PROVIDER"
_KNOWN = "scripted:FILE, openai:MODEL"
_LATER = ("anthropic", "ollama", "cli")


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of one provider without asking it anything."""

    spec: str
    ready: bool
    detail: str
    """Where it is, or what is missing and how to mend it; never a key."""


def load(spec: str, *, script: bytes | None = None, env: Mapping[str, str]) -> Provider:
    """The provider for a specification; nothing is connected yet.

    `script` is the content of the file that `scripted:` names; `env` holds the settings.
    Raises `BadInput` for what cannot be used, naming the setting, and `NotYet`.
    """
    scheme, colon, name = spec.partition(":")
    if not colon or not name.strip():
        raise BadInput(
            f"{spec[:100]!r} is not a provider.",
            remedy=f"Known are {_KNOWN}.",
            field="provider",
        )
    if scheme == "scripted":
        if script is None:
            raise BadInput(
                f"The script of {spec[:100]!r} is missing.",
                remedy="Submit it from the command line: --provider scripted:FILE.",
                field="provider",
            )
        return ScriptedProvider(spec, script)
    if scheme == "openai":
        settings = openai_settings.read(name, env)
        # A module of its own, so that only who uses it pays for it.
        from runtime.providers.openai_chat import OpenAIProvider

        return OpenAIProvider(spec, settings)
    if scheme in _LATER:
        raise NotYet(
            f"The provider {scheme}: is not built yet.",
            remedy=f"Use one of {_KNOWN}.",
            field="provider",
        )
    raise BadInput(
        f"There is no provider {scheme[:100]!r}.",
        remedy=f"Known are {_KNOWN}.",
        field="provider",
    )


def warm(spec: str) -> None:
    """Load the libraries behind a specification, which else the first `decide` does.

    For long-lived workers; takes more than a second and about 50 MB. Nothing is connected.
    """
    if spec.startswith("openai:"):
        importlib.import_module("runtime.providers.openai_model")


def configured(env: Mapping[str, str]) -> str | None:
    """The specification that runs use by default, if one is set."""
    return env.get(SETTING, "").strip() or None


def describe(env: Mapping[str, str]) -> list[Status]:
    """The default provider and whether its settings are complete; nothing is connected."""
    spec = configured(env)
    if spec is None:
        return [
            Status(
                "",
                False,
                f"No provider is set: set {SETTING}, for example to openai:MODEL.",
            )
        ]
    if spec.startswith("scripted:"):
        return [Status(spec, True, "A script, read when a run is submitted.")]
    try:
        load(spec, env=env)
    except M31AError as error:
        return [Status(spec, False, str(error))]
    return [Status(spec, True, openai_settings.read(spec.partition(":")[2], env).base_url)]
