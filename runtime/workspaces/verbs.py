"""Git for a model: fixed commands that read, and what the server does itself.

Reading commands run in the cage like any other; they see the worktree and the read-only view of
the git directory. Commits and pushes are done on the git directory by the server.
"""

from __future__ import annotations

from runtime.core.actions import (
    MAX_SHORT,
    Action,
    GitCommit,
    GitDiff,
    GitLog,
    GitPush,
    GitShow,
    GitStatus,
    RunTool,
)
from runtime.core.commands import Exec
from runtime.core.errors import Refused

from .paths import shown, split

DEFAULT_LOG = 20
STAGED = "Nothing to do: staging is implied, a commit takes the whole tree."
OWN_BRANCH = (
    "Nothing to do: the run has a branch of its own. Give the branch's name as ref of git_push."
)
READ_ONLY = (
    "Git's directory is read-only here. Use git_commit to commit the whole tree, git_push to push;"
    " change files by editing them."
)
_SWITCHES = {("switch", "-c"), ("switch", "--create"), ("checkout", "-b")}
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
            before, colon, inside = rev.partition(":")
            if colon and "{" not in rev:
                rev = f"{_commit_of(before)}:{inside}"
            return _git("show", *_PLAIN, "--no-show-signature", "--stat", "--patch", rev, "--")
        return _git("show", *_PLAIN, f"{_commit_of(rev)}:{'/'.join(split(action.path))}")
    raise TypeError(f"{type(action).__name__} is no git action that reads")


def server_verb(action: RunTool) -> GitCommit | GitPush | str | None:
    """What the server does in place of `git commit`, `git push`, `git add` and `git switch -c`.

    An action, or a text that says why there is nothing to do. None for every other command: it
    runs in the cage. Raises `Refused` for a commit or push with more than plain operands.
    """
    args = action.args or []
    if action.program != "git" or not args:
        return None
    verb, rest = args[0], args[1:]
    if verb == "commit":
        return _commit(rest)
    if verb == "push":
        return _push(rest)
    if verb == "add" and all(
        not a.startswith("-") or a in ("-A", "--all", "-u", "--") for a in rest
    ):
        return STAGED
    if len(rest) == 2 and (verb, rest[0]) in _SWITCHES and not rest[1].startswith("-"):
        return OWN_BRANCH
    return None


def hint(action: Action, output: str) -> str:
    """What to use instead, where git failed because it may not write; "" otherwise."""
    is_git = isinstance(action, RunTool) and action.program == "git"
    return READ_ONLY if is_git and "Read-only file system" in output else ""


def _commit(args: list[str]) -> GitCommit:
    parts: list[str] = []
    todo = list(args)
    while todo:
        word = todo.pop(0)
        if word in ("-a", "--all", "-q", "--quiet"):
            continue
        if word in ("-m", "-am", "--message") and todo:
            parts.append(todo.pop(0))
        elif word.startswith("--message="):
            parts.append(word.removeprefix("--message="))
        elif word.startswith("-m") and len(word) > 2:
            parts.append(word[2:])
        else:
            raise Refused(
                f"git commit takes the whole tree and a message here, not {shown(word)}.",
                remedy="Use git_commit.",
            )
    message = "\n\n".join(part for part in parts if part.strip())
    if not message or len(message) > MAX_SHORT:
        raise Refused("A commit needs a message of reasonable length.", remedy="Use git_commit.")
    return GitCommit(kind="git_commit", message=message)


def _push(args: list[str]) -> GitPush:
    words = [word for word in args if word not in ("-q", "--quiet", "-u", "--set-upstream")]
    if len(words) > 2 or any(word.startswith(("-", "+")) or ":" in word for word in words):
        raise Refused(
            "git push takes a remote and a branch here, nothing else.", remedy="Use git_push."
        )
    remote = words[0] if words else None
    ref = words[1] if len(words) == 2 and words[1] != "HEAD" else None
    return GitPush(kind="git_push", remote=remote, ref=ref)


def _git(*args: str) -> Exec:
    return Exec("git", ("--no-pager", "--literal-pathspecs", "-c", "core.quotePath=false", *args))


def _path(path: str | None) -> tuple[str, ...]:
    return () if path is None else ("/".join(split(path)) or ".",)


def _commit_of(rev: str) -> str:
    """Of a commit or of a tag, not of a tree: in one of these paths begin elsewhere."""
    return f"{rev}^{{commit}}"


def _revision(rev: str) -> str:
    """A name of a commit that git cannot take for an option or a range of arguments."""
    if rev.startswith(("-", ":")) or any(c.isspace() for c in rev):
        raise Refused(
            f"{shown(rev)} is no revision.", remedy="Name a commit, branch or tag, such as HEAD~1."
        )
    return rev
