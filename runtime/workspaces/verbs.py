"""The git actions that only read: fixed commands, run in the cage like any other command.

They see the worktree and the read-only view of the git directory; nothing that they print was
decided by the repository's own configuration.
"""

from __future__ import annotations

from runtime.core.actions import Action, GitDiff, GitLog, GitShow, GitStatus
from runtime.core.commands import Exec
from runtime.core.errors import Refused

from .paths import shown, split

DEFAULT_LOG = 20
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")


def command(action: Action) -> Exec:
    """What runs for `git_status`, `git_diff`, `git_log` or `git_show`. Raises `Refused`."""
    if isinstance(action, GitStatus):
        return _git("status", "--short", "--branch", "--untracked-files=all",
                    "--ignore-submodules=all")  # fmt: skip
    if isinstance(action, GitDiff):
        return _git("diff", *_PLAIN, "HEAD", "--", *_path(action.path))
    if isinstance(action, GitLog):
        count = str(action.limit or DEFAULT_LOG)
        return _git("log", "--no-color", "--no-show-signature", "-n", count, "HEAD", "--")
    if isinstance(action, GitShow):
        rev = _revision(action.rev)
        if action.path is None:
            return _git("show", *_PLAIN, "--no-show-signature", "--stat", "--patch", rev, "--")
        return _git("show", *_PLAIN, f"{rev}:{'/'.join(split(action.path))}")
    raise TypeError(f"{type(action).__name__} is no git action that reads")


def _git(*args: str) -> Exec:
    return Exec("git", ("--no-pager", "--literal-pathspecs", "-c", "core.quotePath=false", *args))


def _path(path: str | None) -> tuple[str, ...]:
    return () if path is None else ("/".join(split(path)) or ".",)


def _revision(rev: str) -> str:
    """A name of a commit that git cannot take for an option or a range of arguments."""
    if rev.startswith(("-", ":")) or any(c.isspace() for c in rev):
        raise Refused(
            f"{shown(rev)} is no revision.", remedy="Name a commit, branch or tag, such as HEAD~1."
        )
    return rev
