"""What would the gate say? For `policy check` and the rule lab; nothing is journaled or run."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from runtime.core.errors import BadInput, NotFound
from runtime.journal.append import now
from runtime.models import Workspace
from runtime.policy import MODES, settings_that_run
from runtime.sandbox import CageSpec, Mount, find_toolchains
from runtime.workspaces.sight import Sight

from .context import Subject, decide

DEFAULTS = {
    "mode": "assisted",
    "role": "implementer",
    "kind": "implementation",
    "cwd": ".",
    "user": "",
}
MAX_CONFIG = 1 << 20
_FIELDS = frozenset({"action", "workspace", *DEFAULTS})


def check(wish: object) -> dict[str, Any]:
    """The verdict on `{"action", "workspace", "mode", "role", "kind", "cwd", "user"}`.

    Paths resolve against the registered root. Raises `BadInput` (also where the policy files
    cannot be used) or `NotFound`.
    """
    if not isinstance(wish, dict):
        raise BadInput("policy check: the input is no JSON object.", remedy="Give one object.")
    if unknown := wish.keys() - _FIELDS:
        raise BadInput(
            f"policy check: unknown field {sorted(unknown)[0]!r}.",
            remedy=f"Use {', '.join(sorted(_FIELDS))}.",
        )
    given = {**DEFAULTS, **wish}
    for name in ("workspace", *DEFAULTS):
        if not isinstance(given.get(name), str):
            raise BadInput(f"{name}: a text is needed.", remedy="See the command line's reference.")
    if given["mode"] not in MODES:
        raise BadInput(f"mode: {given['mode']!r} is none.", remedy=f"Use {', '.join(MODES)}.")
    workspace = Workspace.objects.filter(name=given["workspace"]).first()
    if workspace is None:
        raise NotFound(
            f"There is no workspace {given['workspace']!r}.",
            remedy="`m31a workspace list` shows them.",
        )
    verdict = decide(
        _subject(workspace, given), _with_cwd(given), tree="", now=now(), audit="dry run"
    )
    payload = verdict.as_payload()
    return {
        "decision": payload["decision"],
        "rule": payload["rule"],
        "source": payload["source"],
        "reason": payload["reason"],
        "risk": payload["risk"],
        "mutation": payload["mutation"],
        "effects": payload["effects"],
        "stages": payload["stages"],
        "key": payload["key"],
        "policy_hash": payload["policy_hash"],
    }


def _with_cwd(given: dict[str, Any]) -> object:
    """A command without a cwd of its own gets the given one."""
    action = given.get("action")
    commands = {"run_tool", "run_shell"}
    if (
        given["cwd"] != "."
        and isinstance(action, dict)
        and action.get("kind") in commands
        and "cwd" not in action
    ):
        return {**action, "cwd": given["cwd"]}
    return action


@lru_cache(maxsize=32)
def _sight(root: str) -> Sight:
    """The registered root as a cage would see it."""
    tools = find_toolchains()
    mounts = (Mount(root, root, writable=True), *(Mount(t.source, t.target) for t in tools))
    return Sight(root, CageSpec(root=root, mounts=mounts, path=tuple(t.bin for t in tools)))


def _subject(workspace: Workspace, given: dict[str, Any]) -> Subject:
    sight = _sight(workspace.root)
    return Subject(
        run="dry-run",
        task="dry-run",
        role=given["role"],
        kind=given["kind"],
        mode=given["mode"],
        workspace=workspace.name,
        root=workspace.root,
        allowed=frozenset(workspace.allowed),
        remotes=workspace.remotes,
        write_paths=(),
        look=sight.facts,
        links=sight.links,
        which=sight.which,
        home=os.path.expanduser("~"),
        repository_runs=_repository_runs(workspace.root),
        user=given["user"],
    )


def _repository_runs(root: str) -> tuple[str, ...]:
    """What the checkout's own git configuration would run: here git would obey it."""
    try:
        with open(os.path.join(root, ".git", "config"), encoding="utf-8", errors="replace") as file:
            return settings_that_run(file.read(MAX_CONFIG))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        return (f".git/config cannot be read: {error.strerror}",)
