"""Hashes of what decides: the layers given, and the tables built in."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import Any

from runtime.core import canonical, digests
from runtime.workflow import roles

from . import environment, hosts, protected, reading, shell_builtins
from .context import MODES, Context
from .programs import PROGRAMS, inline
from .rules import RuleLayer, as_data


def policy_hash(context: Context) -> str:
    """Covers every field of every layer, the allowed programs and the built-in tables."""
    return _policy_hash(context.layers, context.allowed)


@lru_cache(maxsize=64)
def _policy_hash(layers: tuple[RuleLayer, ...], allowed: frozenset[str]) -> str:
    return digests.sha256(
        canonical.encode(
            {
                "builtin": builtin_hash(),
                "layers": [layer.digest for layer in layers],
                "allowed": sorted(allowed),
            }
        )
    )


def rule_hash(rule: str, number: int | None, layers: tuple[RuleLayer, ...]) -> str:
    """Of one rule, whole, and of its layer's number and name; `number` None for what is built
    in. Other rules of the layer do not count: they speak for themselves when it is asked again."""
    if number is None:
        return digests.sha256(canonical.encode({"rule": rule, "builtin": builtin_hash()}))
    owners = [
        [layer.number, layer.name, as_data(one)]
        for layer in layers
        if layer.number == number
        for one in layer.rules
        if one.id == rule
    ]
    return digests.sha256(canonical.encode({"rule": rule, "owners": owners}))


@cache
def builtin_hash() -> str:
    """Of all tables of this room and of the roles."""
    modules = (protected, reading, environment, shell_builtins, hosts, inline, roles)
    tables: dict[str, Any] = {
        module.__name__: {
            name: _plain(value)
            for name, value in sorted(vars(module).items())
            if name.lstrip("_").isupper()
        }
        for module in modules
    }
    tables["programs"] = _plain(PROGRAMS)
    tables["modes"] = list(MODES)
    return digests.sha256(canonical.encode(tables))


def _plain(value: Any) -> Any:
    """Data as JSON of the canonical subset; functions by their names."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, str):
        return value
    if isinstance(value, re.Pattern):
        return [value.pattern, value.flags]
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, frozenset | set):
        return sorted((_plain(item) for item in value), key=repr)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "items"):
        return [[_plain(key), _plain(item)] for key, item in value.items()]
    return getattr(value, "__qualname__", type(value).__qualname__)
