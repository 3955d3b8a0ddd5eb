"""From a valid action to its reading: parts, places, and the form that is hashed."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import Any

from runtime.core import actions, patches
from runtime.core.patch_names import InvalidPatch

from .argv import CommandReader
from .context import Context
from .decision import Decision
from .guarding import guarded
from .hosts import NetworkRequest
from .hosts import read as read_network
from .places import Lens, is_uri
from .programs.git import push_target
from .programs.git_content import see_revision
from .programs.model import Found
from .reading import Part, Reading, Remark, Touch, Verb

_CAPABILITY = {
    "verify": "verify",
    "git_commit": "commit",
    "git_push": "push",
    "create_artifact": "artifact",
    "ask_human": "talk",
    "finish": "talk",
    "stop_job": "run",
}
_NAMED = 5
"""Changed files that a reason names."""
_SIMPLE_SCRIPT = re.compile(r"[^'\"\\$`<#]*")


def read(subject: actions.Action | NetworkRequest, context: Context, lens: Lens) -> Reading:
    """Everything that the later stages judge. Looks at each path once, through `lens`."""
    if isinstance(subject, NetworkRequest):
        canonical: dict[str, object] = {
            "kind": "network",
            "method": subject.method,
            "target": subject.target,
        }
        return Reading((read_network(subject),), ".", canonical)
    body = subject.body()
    cwd = _relative(lens, body.pop("cwd", None) or ".")
    parts = [_handing_over(part, context) for part in _parts(subject, context, lens, cwd)]
    return Reading(tuple(parts), cwd, _canonical(body, lens))


def _handing_over(part: Part, context: Context) -> Part:
    """What leaves the worktree is looked at where a command has changed guarded files."""
    if not part.hands_over or not context.changed_guarded:
        return part
    named = [
        f"{path} ({why})" if (why := guarded(path)) else path
        for path in context.changed_guarded[:_NAMED]
    ]
    reason = f"a command has changed {_some(named, len(context.changed_guarded))}"
    remark = Remark("defaults", Decision.ASK, "guarded_files_changed", reason)
    return replace(part, remarks=(*part.remarks, remark), delivers=True)


def _some(named: list[str], count: int) -> str:
    return ", ".join(named) + (" and more" if count > len(named) else "")


def _parts(action: actions.Action, context: Context, lens: Lens, cwd: str) -> list[Part]:
    if isinstance(action, actions.RunTool | actions.StartJob):
        reader = CommandReader(context, lens, action.kind)
        return _in_directory(reader.read((action.program, *(action.args or ())), cwd), lens, cwd)
    if isinstance(action, actions.RunShell):
        from .shell import read_script

        reader = CommandReader(context, lens, "run_shell")
        return _in_directory(read_script(reader, action.script, cwd, 0), lens, cwd)
    return [_file_part(action, context, lens)]


def _in_directory(parts: list[Part], lens: Lens, cwd: str) -> list[Part]:
    """A working directory outside the worktree is refused before anything else."""
    if cwd == ".":
        return parts
    place = lens.place(Touch(Verb.LIST, cwd))
    if place.inside and place.facts.type in ("dir", "missing"):
        return parts
    reason = "the working directory is no directory of the worktree"
    return [
        Part(parts[0].tool, remarks=(Remark("boundary", Decision.DENY, "cwd", reason),)),
        *parts,
    ]


def _file_part(action: actions.Action, context: Context, lens: Lens) -> Part:
    """Reads and edits by the server's own hand, and what touches no file at all."""
    kind = str(getattr(action, "kind", ""))
    found = Found()
    try:
        touches = _touches(action)
    except InvalidPatch as error:
        touches = []
        _refuse(found, "patch", str(error))
    for touch in touches:
        found.touches.append(touch)
        if is_uri(touch.path):
            _refuse(found, "address", "an address is no path")
        if touch.path == "~" or touch.path.startswith("~/"):
            _refuse(found, "home", "the tilde means a directory outside the worktree")
    if isinstance(action, actions.GitShow) and action.rev.startswith("-"):
        found.veto("git revision", "a revision looks like an option")
    if isinstance(action, actions.GitShow):
        see_revision(action.rev, action.path, found)
    found.whole = found.whole or (isinstance(action, actions.GitDiff) and not action.path)
    if isinstance(action, actions.Glob) and (
        action.pattern.startswith("/") or ".." in action.pattern.split("/")
    ):
        _refuse(found, "glob", "the pattern leaves the worktree")
    if isinstance(action, actions.GitPush):
        push_target(action.remote, (action.ref,) if action.ref else (), found)
        found.remark(Decision.ASK, "git push", "git push sends the run's work to others")
    delivers = isinstance(action, actions.Finish) and bool(context.changed_inputs)
    if delivers:
        some = _some(list(context.changed_inputs[:_NAMED]), len(context.changed_inputs))
        reason = f"what the verification runs has been changed: {some}"
        found.remark(Decision.ASK, "verification_inputs_changed", reason)
    reader = CommandReader(context, lens, kind)
    reader.judge_remotes(found)
    capability = _CAPABILITY.get(kind, "edit" if action.edits else "read")
    return Part(
        tool=kind,
        places=reader.places(found, "."),
        remarks=tuple(found.remarks),
        mutation=not action.reads_only,
        network=found.network,
        delivers=delivers,
        capability=capability,
        hosts=reader.hosts((), found),
    )


def _touches(action: actions.Action) -> list[Touch]:
    if isinstance(action, actions.ReadFile):
        return [Touch(Verb.READ, action.path)]
    if isinstance(action, actions.ReplaceText | actions.WriteFile):
        return [Touch(Verb.WRITE, action.path)]
    if isinstance(action, actions.ApplyPatch):
        return [touch for one in patches.parse(action.patch) for touch in _patched(one)]
    if isinstance(action, actions.ListFiles | actions.Glob):
        return [Touch(Verb.LIST, action.path or ".")]
    if isinstance(action, actions.Grep):
        return [Touch(Verb.READ, action.path or ".", deep=True)]
    if isinstance(action, actions.GitDiff):
        return [Touch(Verb.READ, action.path, deep=True)] if action.path else []
    if isinstance(action, actions.GitShow):
        _, _, inside = action.rev.partition(":")
        return [Touch(Verb.READ, path) for path in (inside, action.path) if path]
    return []


def _patched(change: patches.FilePatch) -> list[Touch]:
    """What a patch does to the paths of one file. A renamed one is read elsewhere afterwards."""
    if change.old is None or change.old == change.new:
        return [Touch(Verb.WRITE, change.new or "")]
    touches = [Touch(Verb.DELETE, change.old)]
    if change.new is not None:
        touches += [Touch(Verb.READ, change.old), Touch(Verb.WRITE, change.new)]
    return touches


def _refuse(found: Found, rule: str, reason: str) -> None:
    found.remarks.append(Remark("boundary", Decision.DENY, rule, reason))


def _relative(lens: Lens, path: str) -> str:
    """A path below the worktree as its relative form, any other one absolute and normal."""
    normal = posixpath.normpath(lens.join(path))
    return lens.relative(normal) or normal


def _canonical(body: dict[str, Any], lens: Lens) -> dict[str, object]:
    """The action in the one form in which equal things are equal."""
    canonical: dict[str, object] = dict(body)
    if isinstance(body.get("path"), str) and not is_uri(body["path"]):
        canonical["path"] = _relative(lens, body["path"])
    if canonical.get("args") == []:
        del canonical["args"]
    script = body.get("script")
    if isinstance(script, str):
        canonical["script"] = _plain_script(script)
    return canonical


def _plain_script(script: str) -> str:
    """Blanks that mean nothing are dropped; where quoting makes them mean something, only at
    the ends."""
    if not _SIMPLE_SCRIPT.fullmatch(script):
        return script.strip("\n\t ")
    lines = (re.sub(r"[ \t]+", " ", line).strip(" ") for line in script.split("\n"))
    return "\n".join(line for line in lines if line)
