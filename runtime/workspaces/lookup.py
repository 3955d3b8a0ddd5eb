"""Whether programs exist in a workspace's cage: looked for there, never started."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from runtime.core.commands import Exec
from runtime.core.errors import Unavailable
from runtime.policy.authorised import by_runtime
from runtime.sandbox import Cage, Mount, shared_etc
from runtime.sandbox.accounts import pick_uid

from . import mounts

# One line for each program that is not there. Nothing but the shell itself runs.
_SCRIPT = """
for program; do
    found=
    case $program in
    /*) [ -f "$program" ] && [ -x "$program" ] && found=1 ;;
    *)
        IFS=:
        for folder in $PATH; do
            [ -f "$folder/$program" ] && [ -x "$folder/$program" ] && found=1 && break
        done
        unset IFS ;;
    esac
    [ "$found" ] || printf '%s\\0' "$program"
done
"""


def missing(
    workspace: mounts.Places, programs: Iterable[str], etc: Path | None = None
) -> list[str]:
    """Those of the programs that the cage does not have, in order.

    A path below the workspace (`./check`) is looked up in the directory itself. `etc`: where
    what the cages of runs see as /etc is kept (`RunSpace`). Raises `Unavailable` where there is
    no cage.
    """
    wanted = list(dict.fromkeys(programs))
    own = [name for name in wanted if _own(workspace.root, name) is not None]
    gone = {name for name in own if not _executable(_own(workspace.root, name) or "")}
    others = [name for name in wanted if name not in own]
    if others:
        gone |= set(_ask_cage(workspace, others, etc))
    return [name for name in wanted if name in gone]


def _own(root: str, program: str) -> str | None:
    """Where a program of the workspace itself lies, None for all others."""
    if "/" not in program:
        return None
    path = os.path.normpath(os.path.join(root, program))
    return path if path.startswith(root + "/") else None


def _executable(path: str) -> bool:
    return os.path.isfile(path) and bool(os.stat(path).st_mode & 0o111)


def _ask_cage(workspace: mounts.Places, programs: list[str], etc: Path | None) -> list[str]:
    """An empty directory stands for the worktree: nothing of it is needed."""
    with tempfile.TemporaryDirectory(prefix="m31a-lookup-") as name:
        folder = Path(name)
        for inner in ("tree", "scratch", "git"):
            (folder / inner).mkdir()
            (folder / inner).chmod(0o755)
        seen = shared_etc(str(etc or folder / "etc"))
        uid, linked = pick_uid(()), mounts.links(workspace)
        spec = mounts.spec(workspace, folder, folder / "git", uid, "lookup", linked, seen)
        plain = tuple(
            Mount(m.source, m.target) if m.target == workspace.root else m
            for m in spec.mounts
            if m.only is None
        )
        command = by_runtime(Exec("/bin/sh", ("-c", _SCRIPT, "lookup", *programs)), "lookup")
        with Cage(replace(spec, mounts=plain)) as cage:
            done = cage.run(command, timeout=30)
    if not done.ok:
        raise Unavailable(
            f"Programs cannot be looked up: {done.failure or done.text('stderr')[:500]}"
        )
    return [name for name in done.stdout.decode("utf-8", "surrogateescape").split("\0") if name]
