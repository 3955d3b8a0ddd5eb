"""From a specification such as `openai:MODEL` to the provider behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.core.errors import BadInput, M31AError
from runtime.providers import vendors
from runtime.providers.base import Provider
from runtime.providers.scripted import ScriptedProvider

SETTING = "M31A_PROVIDER"
KNOWN = (
    "scripted:FILE",
    "openai:MODEL",
    "anthropic:MODEL",
    "google:MODEL",
    "ollama:MODEL",
    "openrouter:MODEL",
    "cli:agy",
)


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of one provider."""

    spec: str
    ready: bool
    detail: str
    """Where it is, or what is missing and how to mend it; never a key."""
    remedy: str = ""


def load(spec: str, *, script: bytes | None = None, env: Mapping[str, str]) -> Provider:
    """The provider for a specification; nothing is connected yet.

    `script` is the content of the file that `scripted:` names; `env` holds the settings.
    Raises `BadInput` for what cannot be used, naming the setting.
    """
    scheme, colon, name = spec.partition(":")
    if not colon or not name.strip():
        raise _unknown(f"{spec[:100]!r} is not a provider.")
    if scheme == "scripted":
        if script is None:
            raise BadInput(
                f"The script of {spec[:100]!r} is missing.",
                remedy="Submit it from the command line: --provider scripted:FILE.",
                field="provider",
            )
        return ScriptedProvider(spec, script)
    return _load(scheme, name, spec, completed(env))


def _load(scheme: str, name: str, spec: str, settings: Mapping[str, str]) -> Provider:
    """Modules of their own, so that only who uses one pays for it."""
    if scheme in vendors.VENDORS:
        from runtime.providers.http_models import HttpProvider

        return HttpProvider(spec, vendors.read(vendors.VENDORS[scheme], name, settings))
    if scheme == "cli":
        from runtime.providers.agy import AgyProvider
        from runtime.providers.agy_settings import read

        return AgyProvider(spec, read(name, settings))
    from runtime.providers import others

    if found := others.load(scheme, spec, settings):
        return found
    raise _unknown(f"There is no provider {scheme[:100]!r}.")


def completed(env: Mapping[str, str]) -> Mapping[str, str]:
    """The settings with the keys of the file. Raises `BadInput` for one that cannot be used."""
    from runtime.providers import keys

    return keys.completed(env)


def _unknown(what: str) -> BadInput:
    return BadInput(what, remedy=f"Known are {', '.join(KNOWN)}.", field="provider")


def warm(spec: str) -> None:
    """Load the libraries behind a specification, which else the first `decide` does.

    For long-lived workers; takes more than a second and about 50 MB. Nothing is connected.
    """
    scheme = spec.partition(":")[0]
    if scheme in vendors.VENDORS:
        from runtime.providers.http_models import preload

        preload(scheme)


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
    return [settled(spec, env)]


def settled(spec: str, env: Mapping[str, str]) -> Status:
    """Whether the settings of a specification are complete; nothing is connected."""
    if spec.startswith("scripted:"):
        return Status(spec, True, "A script, read when a run is submitted.")
    try:
        return Status(spec, True, where(load(spec, env=env)))
    except M31AError as error:
        return Status(spec, False, str(error))


def where(provider: Provider) -> str:
    """Where a provider's model is, as far as it says so."""
    endpoint = getattr(provider, "endpoint", None)
    if isinstance(endpoint, vendors.Endpoint):
        return endpoint.base_url
    return str(getattr(provider, "where", "")) or "Its settings are complete."
