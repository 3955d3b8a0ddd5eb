"""From what an operator says about a directory to the values of its row. Nothing is written."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runtime.core.errors import BadInput
from runtime.policy import reach
from runtime.policy.programs import DEFAULT_PROGRAMS
from runtime.sandbox import ACCEPTABLE

from . import detect, lookup, mounts

RETENTIONS = ("none", "redacted", "full")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PROGRAM = re.compile(r"[^/\s\0]{1,255}")
_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc", "/sys", "/dev",
    "/run", "/boot", "/m31a",
)  # fmt: skip
_NEEDED = ("/", "/home", "/tmp", "/var", "/opt", "/root", "/home/agent")


@dataclass(frozen=True, slots=True)
class Draft:
    """A workspace as it is being checked."""

    name: str
    root: str
    is_git: bool
    allowed: list[str]
    verify: list[list[str]]
    environments: list[str]
    remotes: dict[str, str]
    limits: dict[str, int]
    retention: str
    sandbox: str
    hosts: list[str]


def prepare(
    name: str,
    path: str,
    *,
    verify: Iterable[str] = (),
    allow: Iterable[str] = (),
    allow_only: Iterable[str] = (),
    env: Iterable[str] = (),
    retention: str = "redacted",
    limits: dict[str, int] | None = None,
    sandbox: str = "",
    hosts: Iterable[str] = (),
    etc: Path | None = None,
) -> dict[str, Any]:
    """The values of the row of `runtime.models.Workspace` but who made it and when.

    Everything is checked; the verification's programs are looked up in the cage, not run (`etc`:
    see `lookup.missing`). Raises
    `BadInput` naming field, value and remedy; `Unavailable` where there is no cage to look in.
    Whether the name is taken is the caller's to check.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} cannot be a workspace's name.",
            remedy="Use up to 64 letters, digits, dots, dashes and underscores.",
            field="name",
        )
    if retention not in RETENTIONS:
        raise BadInput(
            f"There is no retention {retention!r}.",
            remedy=f"Choose one of {', '.join(RETENTIONS)}.",
            field="retention",
        )
    if sandbox not in ACCEPTABLE:
        raise BadInput(
            f"There is no backend {sandbox!r} that a workspace could accept.",
            remedy="Leave it out, or accept landlock (weaker) or none (no walls at all).",
            field="sandbox",
        )
    mounts.limits(limits or {})
    reachable = _hosts(list(hosts))
    root = _root(path)
    is_git = os.path.lexists(os.path.join(root, ".git"))
    found = detect.repository(root) if is_git else detect.Repository({}, ())
    draft = Draft(
        name=name,
        root=root,
        is_git=is_git,
        allowed=_allowed(list(allow), list(allow_only)),
        verify=[_command(text) for text in verify],
        environments=detect.environments(root, list(env)),
        remotes=found.remotes,
        limits=dict(limits or {}),
        retention=retention,
        sandbox=sandbox,
        hosts=reachable,
    )
    for program in lookup.missing(draft, [argv[0] for argv in draft.verify], etc):
        raise BadInput(
            f"The verification program {program!r} does not exist in the cage.",
            remedy="Install it for this machine, name its environment with --env, or correct"
            " --verify.",
            field="verify",
        )
    return asdict(draft)


def advice(root: str, is_git: bool, verify: list[list[str]]) -> list[str]:
    """What the operator of a workspace that was prepared should know. Raises as `prepare` does."""
    said = []
    if not verify:
        said.append(
            "No verification command is configured: a run that edits can never finish."
            " Register with --verify."
        )
    if is_git:
        said += detect.repository(root).warnings
    elif above := _repository_above(root):
        said.append(f"{root} lies in the repository {above}; it is copied as a plain directory.")
    return said


def _root(path: str) -> str:
    if not path or "\0" in path:
        raise BadInput("The path is empty.", remedy="Name a directory.", field="path")
    root = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(root):
        what = "is no directory" if os.path.lexists(root) else "does not exist"
        raise BadInput(f"{root} {what}.", remedy="Name an existing directory.", field="path")
    real = os.path.realpath(root)
    for place in {root, real}:
        if place in _NEEDED or any(place == s or place.startswith(s + "/") for s in _SYSTEM):
            raise BadInput(
                f"{place} is a directory of the system; a workspace cannot be there.",
                remedy="Use a directory of its own.",
                field="path",
            )
    bare = all(os.path.exists(os.path.join(root, part)) for part in ("HEAD", "objects", "refs"))
    if bare:
        raise BadInput(
            f"{root} is a bare repository.",
            remedy="Clone it and register the clone.",
            field="path",
        )
    return root


def _command(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadInput(
            f"The verification command {text!r} cannot be split into words: {error}.",
            remedy="Close its quotes.",
            field="verify",
        ) from None
    if not words or not words[0]:
        raise BadInput(
            "A verification command is empty.",
            remedy="Give a program, such as 'python3 -m pytest'.",
            field="verify",
        )
    if "\0" in text:
        raise BadInput("A verification command holds a NUL character.", field="verify")
    return words


def _allowed(allow: list[str], allow_only: list[str]) -> list[str]:
    for field, names in (("allow", allow), ("allow_only", allow_only)):
        for name in names:
            if not _PROGRAM.fullmatch(name):
                raise BadInput(
                    f"{name!r} is no program's name.",
                    remedy="Give a bare name such as terraform, without a path or arguments.",
                    field=field,
                )
    return sorted(set(allow_only or DEFAULT_PROGRAMS) | set(allow))


def _hosts(texts: list[str]) -> list[str]:
    """Each in its one spelling."""
    try:
        return list(reach.listed(texts).texts())
    except ValueError as error:
        raise BadInput(
            f"The host {error}.",
            remedy="Write example.org, example.org:8443, *.example.org or an address; without a"
            " port it is 80 and 443.",
            field="host",
        ) from None


def _repository_above(path: str) -> str | None:
    while (parent := os.path.dirname(path)) != path:
        if os.path.lexists(os.path.join(parent, ".git")):
            return parent
        path = parent
    return None
