"""The settings of providers: the environment, completed by the file of keys."""

from __future__ import annotations

from collections.abc import Mapping

from runtime import secrets


def completed(env: Mapping[str, str]) -> dict[str, str]:
    """The environment with the stored keys that it does not have itself, or that are empty there;
    the redactor knows them.

    Raises `BadInput` for a file of keys that cannot be used.
    """
    stored = secrets.stored_keys(env)
    if stored:
        secrets.redactor().learn(stored)
    return {**env, **{name: key for name, key in stored.items() if not env.get(name, "").strip()}}
