"""Whether providers that are configured answer, found out by a call that costs nothing.

Never prints a key: what a server or a program says is shown without it, and without whatever else
looks like a secret.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from runtime.core.errors import M31AError
from runtime.providers import registry, vendors
from runtime.providers.registry import Status

SECONDS = 5.0
PROGRAM_SECONDS = 10.0


def check(env: Mapping[str, str]) -> list[Status]:
    """The default provider, and every other that has a setting, each asked once at the same time.

    Takes at most some `SECONDS`, and raises nothing.
    """
    try:
        settings = registry.completed(env)
    except M31AError as error:
        return [Status(registry.configured(env) or "keys", False, error.message, error.remedy)]
    specs = _specs(settings)
    if not specs:
        return registry.describe(settings)
    with ThreadPoolExecutor(len(specs)) as pool:
        found = list(pool.map(lambda spec: _one(spec, settings), specs))
    from runtime.secrets import redactor  # long to load, and nobody else in this room needs it

    hide = redactor().text
    return [replace(one, detail=hide(one.detail), remedy=hide(one.remedy)) for one in found]


def _specs(settings: Mapping[str, str]) -> list[str]:
    """The default one first; vendors that are only set up are named without a model."""
    default = registry.configured(settings)
    schemes = [name for name, one in vendors.VENDORS.items() if vendors.is_set(one, settings)]
    if settings.get("M31A_AGY_BINARY", "").strip():
        schemes.append("cli:agy")
    used = (default or "").partition(":")[0]
    others = [name for name in schemes if name.partition(":")[0] != used]
    return ([default] if default else []) + others


def _one(spec: str, settings: Mapping[str, str]) -> Status:
    try:
        scheme, _, model = spec.partition(":")
        if scheme in vendors.VENDORS:
            endpoint = vendors.read(vendors.VENDORS[scheme], model, settings)
            return Status(spec, True, _ask_server(endpoint))
        status = registry.settled(spec, settings)
        if scheme == "cli" and status.ready:
            return Status(spec, True, _ask_program(spec, settings))
        return status
    except M31AError as error:
        return Status(spec, False, error.message, error.remedy)


def _ask_server(endpoint: vendors.Endpoint) -> str:
    """What its server says of itself. Raises `M31AError`."""
    from runtime.providers import listing
    from runtime.providers.base import Prompt
    from runtime.providers.calling import Call, run

    call = Call(Prompt("", ()), lambda text: None, SECONDS, listing.MAX_BYTES, endpoint.key)
    return run(call, lambda call: listing.look(endpoint, call), threading.Event())


def _ask_program(spec: str, settings: Mapping[str, str]) -> str:
    from runtime.providers.agy_settings import read

    return read(spec.partition(":")[2], settings).tool.version(PROGRAM_SECONDS)
