"""What a directory that is to be registered holds: commits, remotes, environments. Read only."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from dulwich.errors import NotGitRepository
from dulwich.repo import Repo

from runtime.core.errors import BadInput

from . import push

ENVIRONMENTS = (".venv", "venv", "node_modules")
_NAME = re.compile(r"[A-Za-z0-9._@+-]{1,128}")


@dataclass(frozen=True, slots=True)
class Repository:
    """Remotes by name, and what was found that a person should know."""

    remotes: dict[str, str]
    warnings: tuple[str, ...]


def repository(root: str) -> Repository:
    """The repository whose worktree `root` is. Raises `BadInput` where no run can start from it."""
    try:
        with Repo(root) as repo:
            if repo.object_format.name != "sha1":
                raise BadInput(
                    f"{root} names its objects by {repo.object_format.name}; only sha1 is known.",
                    field="path",
                )
            try:
                repo.head()
            except KeyError:
                raise BadInput(
                    f"The repository {root} has no commit.",
                    remedy="Make a first commit: git add -A && git commit -m 'First commit'",
                    field="path",
                ) from None
            config = repo.get_config()
            found = {
                section[1].decode("utf-8", "replace"): config.get(section, b"url").decode(
                    "utf-8", "replace"
                )
                for section in config.sections()
                if len(section) == 2
                and section[0] == b"remote"
                and b"url" in dict(config.items(section))
            }
    except (NotGitRepository, OSError, ValueError) as error:
        raise BadInput(
            f"The git repository {root} cannot be read: {error}.",
            remedy="Check it with git status.",
            field="path",
        ) from error
    return _remotes(root, found)


def _remotes(root: str, found: dict[str, str]) -> Repository:
    kept, warnings = {}, []
    for name, written in sorted(found.items()):
        url = _absolute(root, written)
        parts = urlsplit(url) if "://" in url else None
        token = parts is not None and parts.scheme == "https" and parts.username
        if parts is not None and (parts.password or token):
            warnings.append(f"The remote {name} is left out: its address holds a password.")
        elif not push.usable(url) or not _NAME.fullmatch(name):
            warnings.append(f"The remote {name} is left out: nothing can be pushed to its address.")
        else:
            kept[name] = url
    return Repository(kept, tuple(warnings))


def _absolute(root: str, url: str) -> str:
    """A relative directory, as git reads it, made absolute; everything else as it is."""
    if url.startswith("/") or "://" in url or re.match(r"[^/]*:", url):
        return url
    return os.path.normpath(os.path.join(root, url))


def environments(root: str, named: list[str]) -> list[str]:
    """The directories to be mounted read-only: those that are named, else those that are found.

    A relative name is looked for in `root`. Raises `BadInput` for one that is not there.
    """
    if not named:
        paths = [os.path.join(root, name) for name in ENVIRONMENTS]
        return [path for path in paths if os.path.isdir(path) and _is_environment(path)]
    found = []
    for name in named:
        path = os.path.normpath(os.path.join(root, name))
        if not os.path.isdir(path):
            raise BadInput(
                f"The environment {path} is no directory.",
                remedy="Create it first, or correct --env.",
                field="env",
            )
        if path == root or root.startswith(path + "/"):
            raise BadInput(
                f"The environment {path} holds the workspace itself.",
                remedy="Name a directory such as .venv.",
                field="env",
            )
        if not _NAME.fullmatch(os.path.basename(path)):
            raise BadInput(
                f"The environment's name {os.path.basename(path)!r} holds characters that cannot"
                " be part of PATH safely.",
                remedy="Use letters, digits, dots and dashes.",
                field="env",
            )
        if path not in found:
            found.append(path)
    return found


def _is_environment(path: str) -> bool:
    if os.path.basename(path) == "node_modules":
        return True
    return os.path.isfile(os.path.join(path, "pyvenv.cfg"))
