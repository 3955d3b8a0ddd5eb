"""The settings of `cli:agy`, read and checked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from runtime.core.errors import BadInput
from runtime.policy import reach
from runtime.providers.vendor_cage import Tool
from runtime.providers.vendors import MAX_MODEL

BINARY, MODEL, HOME = "M31A_AGY_BINARY", "M31A_AGY_MODEL", "M31A_AGY_HOME"
FOLDERS, PROMPT, HOSTS = "M31A_AGY_FOLDERS", "M31A_AGY_PROMPT", "M31A_AGY_HOSTS"
VENDOR = "*.googleapis.com accounts.google.com antigravity.google *.antigravity.google"
"""What the program reaches unless it is told otherwise: its vendor, over HTTPS."""
Way = Literal["auto", "stdin", "argument"]


@dataclass(frozen=True, slots=True)
class AgySettings:
    """The program, where it may look, and how it is spoken to."""

    tool: Tool
    model: str
    """The empty string: the program's own default."""
    way: Way
    """How the prompt travels; `auto`: on standard input where the program offers it."""


def read(name: str, env: Mapping[str, str]) -> AgySettings:
    """The settings for `agy` or `agy:MODEL`. Raises `BadInput` naming the one that is wrong."""
    tool, _, model = name.partition(":")
    if tool != "agy":
        raise BadInput(
            f"There is no command line {tool[:100]!r}.",
            remedy="Known is cli:agy, or cli:agy:MODEL.",
            field="provider",
        )
    model = model or env.get(MODEL, "").strip()
    if len(model) > MAX_MODEL or not model.isprintable() or model.startswith("-"):
        raise BadInput(
            f"A model's name is printable and at most {MAX_MODEL} characters long.",
            remedy=f"Give the name that `agy models` lists, as cli:agy:MODEL or in {MODEL}.",
            field=MODEL,
        )
    return AgySettings(
        Tool(
            program=_binary(env),
            home=_home(env),
            folders=_folders(env),
            hosts=_hosts(env),
        ),
        model,
        cast(Way, _choice(env, PROMPT, ("auto", "stdin", "argument"))),
    )


def _binary(env: Mapping[str, str]) -> str:
    """The program itself, links followed."""
    named = os.path.expanduser(env.get(BINARY, "").strip())
    found = shutil.which(named or "agy", path=env.get("PATH"))
    if found is None:
        what = f"{BINARY} is {named!r}, which" if named else "The program agy"
        raise BadInput(
            f"{what} is no program that can be executed.",
            remedy=f"Install AGY, and set {BINARY} to its path.",
            field=BINARY,
        )
    return os.path.realpath(found)


def _home(env: Mapping[str, str]) -> str:
    """The folder that the program takes for its home: its credentials, and nothing else."""
    named = env.get(HOME, "").strip()
    if not named:
        return ""
    path = os.path.realpath(os.path.expanduser(named))
    if not os.path.isdir(path):
        raise BadInput(
            f"{HOME} is {named!r}, which is no folder.",
            remedy="Make one for this purpose, sign in with HOME set to it, and name it here.",
            field=HOME,
        )
    if _is_shared(path, env):
        raise BadInput(
            f"{HOME} is {named!r}; the program would see more than its own credentials.",
            remedy="Name a folder that holds nothing else, outside the data folder.",
            field=HOME,
        )
    return path


def _is_shared(path: str, env: Mapping[str, str]) -> bool:
    """Whether a folder is a part of the system, or holds a home or something of the data folder."""
    own = os.path.realpath(os.path.expanduser("~"))
    if path.count("/") < 2 or os.path.commonpath([path, own]) == path:
        return True
    data = _data_folder(env)
    if not data:
        return False
    common = os.path.commonpath([path, data])
    return common in (path, data)


def _data_folder(env: Mapping[str, str]) -> str:
    from django.conf import settings

    named = env.get("M31A_DATA_DIR") or (settings.M31A.DATA_DIR if settings.configured else "")
    return os.path.realpath(os.path.expanduser(named)) if named else ""


def _folders(env: Mapping[str, str]) -> tuple[str, ...]:
    """Further folders that the program needs to start, read-only."""
    paths = [path for path in env.get(FOLDERS, "").split(":") if path.strip()]
    for path in paths:
        real = os.path.realpath(path)
        if not path.startswith("/") or not os.path.isdir(real) or _is_shared(real, env):
            raise BadInput(
                f"{FOLDERS} names {path!r}, which is no folder that the program may see.",
                remedy="Give absolute paths of folders of its own, separated by colons.",
                field=FOLDERS,
            )
    return tuple(os.path.realpath(path) for path in paths)


def _hosts(env: Mapping[str, str]) -> tuple[str, ...]:
    """What the program may reach; () where the setting is `none`."""
    named = env.get(HOSTS, "").strip() or VENDOR
    if named == "none":
        return ()
    try:
        return reach.listed(named.split()).texts()
    except ValueError as error:
        raise BadInput(
            f"{HOSTS} lists {error}.",
            remedy="Give HOST, HOST:PORT or *.DOMAIN, separated by blanks, or none.",
            field=HOSTS,
        ) from error


def _choice(env: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """One of some words; the first is the default."""
    word = env.get(name, "").strip() or choices[0]
    if word not in choices:
        raise BadInput(f"{name} is {word[:40]!r}.", remedy=f"Use {', '.join(choices)}.", field=name)
    return word
