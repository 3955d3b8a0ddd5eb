"""What a cage of a workspace is made of: worktree, git view, environments, tools, limits."""

from __future__ import annotations

import dataclasses
import os
import posixpath
import re
from pathlib import Path
from typing import Protocol

from runtime.core.errors import BadInput
from runtime.policy.protected import ENVIRONMENTS
from runtime.sandbox import CageSpec, Limits, Mount
from runtime.sandbox.toolchains import find_toolchains

from . import caged, usage

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


class Places(Protocol):
    """The part of a workspace that mounts depend on."""

    @property
    def root(self) -> str: ...
    @property
    def environments(self) -> list[str]: ...
    @property
    def limits(self) -> dict[str, int]: ...
    @property
    def sandbox(self) -> str: ...


def links(workspace: Places) -> dict[str, str]:
    """Where each environment is linked into the worktree (relative), and to which place."""
    return {path: target for path, target, _ in _environments(workspace)}


def _environments(workspace: Places) -> list[tuple[str, str, str]]:
    """Path of the link, place in the cage, directory on the host. The place keeps the last name:
    `node_modules` looks itself up by it."""
    rows, used = [], set()
    for number, source in enumerate(workspace.environments):
        name = posixpath.basename(source)
        inside = os.path.relpath(source, workspace.root)
        path = name if inside.startswith("..") else inside
        place = f"{ENVIRONMENTS}/{name}"
        if place in used:
            place = f"{ENVIRONMENTS}/{number}/{name}"
        used.add(place)
        rows.append((path, place, source))
    return rows


def spec(
    workspace: Places,
    folder: Path,
    git: Path,
    uid: int | None,
    label: str,
    linked: dict[str, str],
    etc: str,
) -> CageSpec:
    """The cage of the worktree `folder`/tree. Environments that are not `linked` stay outside."""
    mounts = [
        Mount(etc, "/etc"),
        Mount(str(git), caged.GIT),
        Mount(str(folder / "tree"), workspace.root, writable=True),
        Mount(str(folder / "scratch"), caged.SCRATCH, writable=True, only="git"),
    ]
    path = []
    for link, place, source in _environments(workspace):
        if link in linked:
            mounts.append(Mount(os.path.realpath(source), place))
            if os.path.isdir(os.path.join(source, "bin")):
                path.append(f"{place}/bin")
            elif os.path.isdir(os.path.join(source, ".bin")):
                path.append(f"{place}/.bin")
            mounts += _interpreter(source)
    for tool in find_toolchains():
        mounts.append(Mount(tool.source, tool.target))
        path.append(tool.bin)
    return CageSpec(
        root=workspace.root,
        mounts=_distinct(mounts, workspace.root),
        path=tuple(path),
        uid=uid,
        limits=limits(workspace.limits),
        label=label,
        accepts=workspace.sandbox,
    )


def without_git(spec: CageSpec) -> CageSpec:
    """The same cage, in which nothing of the git directory is."""
    kept = tuple(mount for mount in spec.mounts if mount.target not in (caged.GIT, caged.SCRATCH))
    return dataclasses.replace(spec, mounts=kept)


def _interpreter(environment: str) -> list[Mount]:
    """The Python installation that a virtual environment's own python points to."""
    try:
        text = Path(environment, "pyvenv.cfg").read_text("utf-8", "replace")
    except OSError:
        return []
    found = re.search(r"^home\s*=\s*(/\S.*?)\s*$", text, re.MULTILINE)
    if not found or posixpath.basename(posixpath.normpath(found[1])) != "bin":
        return []
    prefix = posixpath.dirname(posixpath.normpath(found[1]))
    if prefix.count("/") < 2 or any(_within(prefix, system) for system in _SYSTEM):
        return []
    # An installation has its library beside its programs; a home directory has not.
    library = Path(prefix, "lib")
    if not library.is_dir() or not any(library.glob("python3*")) or Path(prefix, ".ssh").exists():
        return []
    if posixpath.basename(prefix) == ".local":
        return []
    return [Mount(os.path.realpath(prefix), prefix)]


def _distinct(mounts: list[Mount], root: str) -> tuple[Mount, ...]:
    """Each place once; nothing below the worktree, where a command could shape the way to it."""
    kept: dict[str, Mount] = {}
    for mount in mounts:
        if mount.target != root and _within(mount.target, root):
            continue
        kept.setdefault(mount.target, mount)
    return tuple(kept.values())


def _within(path: str, outer: str) -> bool:
    return path == outer or path.startswith(outer + "/")


def limits(values: dict[str, int]) -> Limits:
    """A workspace's limits over the defaults. Raises `BadInput` naming one that is not known."""
    known = {field.name for field in dataclasses.fields(Limits)}
    ours = usage.names()  # of the worktree as a whole: no command is ended by them
    for name in values:
        if name not in known and name not in ours:
            raise BadInput(
                f"There is no limit {name!r}.",
                remedy=f"Known are {', '.join(sorted([*known, *ours]))}.",
                field="limits",
            )
    usage.bounds(values)
    return Limits(**{name: value for name, value in values.items() if name in known})
