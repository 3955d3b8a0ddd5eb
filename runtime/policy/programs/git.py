"""Git: a way to run code, so every subcommand and option is known or looked at."""

from __future__ import annotations

import re

from ..decision import Decision
from ..reading import Touch, Verb
from .model import (
    Found,
    Operands,
    Option,
    Program,
    Value,
    asks,
    escalates,
    flags,
    joined,
    runs,
    table,
    takes,
    writes,
)

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)?//|[^/:\s]+@[^:\s]+:|[A-Za-z][A-Za-z0-9+-]*::|[^/\s:]+:\S")
_SHOWN = (
    flags(*(f"-{letter}" for letter in "abcdefgilmprstuvwzBCDERWX"), "-1", "-2", "-3", "--stat", "--shortstat", "--numstat", "--summary", "--oneline", "--patch", "--no-patch", "--name-only", "--name-status", "--cached", "--staged", "--graph", "--all", "--decorate", "--no-decorate", "--reverse", "--merges", "--no-merges", "--first-parent", "--follow", "--no-color", "--raw", "--check", "--word-diff", "--no-ext-diff", "--no-textconv", "--minimal", "--patience", "--histogram", "--no-renames", "--exit-code", "--quiet", "--full-index", "--binary", "--text", "--ignore-all-space", "--ignore-space-change", "--ignore-blank-lines", "--no-prefix", "--merge-base", "--tags", "--branches", "--remotes", "--left-right", "--cherry-pick", "--boundary", "--topo-order", "--date-order", "--parents", "--children", "--no-notes", "--no-walk", "--show-signature", "--abbrev-commit", "--no-abbrev-commit", "--pretty", "--porcelain", "--long", "--short", "--branch", "--show-stash", "--ahead-behind", "--no-ahead-behind", "--line-porcelain", "--incremental", "--root", "--show-email", "--show-name", "--show-number", "--others", "--ignored", "--modified", "--deleted", "--stage", "--exclude-standard", "--error-unmatch", "--full-name", "--unmerged", "--killed", "--directory", "--eol", "--show-toplevel", "--show-prefix", "--show-cdup", "--git-dir", "--is-inside-work-tree", "--verify", "--symbolic-full-name", "--contains", "--count", "--name-rev", "--always", "--dirty", "--batch-check", "--summary", "--email", "--numbered", "--no-pager", "--help", "-h", "--reset-author", "--show-current", "--list", "--no-column", "--cc", "--dense", "--no-indent-heuristic", "--no-rename-empty", "--full-history", "--simplify-merges", "--clear-decorations", "--no-relative", "--absolute-git-dir", "--is-bare-repository"),
    joined("--format", "--pretty", "--abbrev", "--color", "--color-words", "--stat", "--decorate", "--porcelain", "--untracked-files", "--ignored", "--date", "--word-diff", "--relative", "--find-renames", "--find-copies", "--dirstat", "--unified", "--inter-hunk-context", "--diff-filter", "--diff-algorithm", "--submodule", "--column", "--sort", "--since", "--until", "--after", "--before", "--author", "--committer", "--grep", "--max-count", "--skip", "--abbrev-ref", "--short", "--ignore-submodules", "--branches", "--tags", "--remotes", "--ws-error-highlight", "--src-prefix", "--dst-prefix", "--exclude", "--glob", "--contains", "--points-at", "--merged", "--no-merged", "--match", "--candidates", "--encoding", "--notes", "--decorate-refs", "--cherry", "--left-only", "--right-only"),
    takes("-n", "-U", "-S", "-G", "-L", "-O", "-M", "--max-count", "--since", "--until", "--author", "--grep", "--format", "--skip", "--date", "--after", "--before"),
    writes("--output", "-o"),
    asks("runs programs named in the configuration", "--ext-diff", "--textconv", "--filters"),
    asks("reads files that are not of the repository", "--no-index"),
    runs("--open-files-in-pager", value=Value.JOINED),
)


def _looks(name: str, *extra: Option) -> Program:
    """A subcommand that only reads, as long as its options are known."""
    return Program(f"git {name}", reads_only=True, strict=True, operands=Operands.DATA, options=(*extra, *_SHOWN), reader=_revisions)


def _asks(name: str, why: str, **more: object) -> Program:
    return Program(f"git {name}", Decision.ASK, why, operands=Operands.DATA, **more)  # type: ignore[arg-type]


def _revisions(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`HEAD:path` and `:path` show a file; a word that is a path outside reads there."""
    for word in found.operands:
        _, colon, path = word.partition(":")
        if colon and path and not path.startswith("/"):
            found.touches.append(Touch(Verb.READ, path))
        elif word.startswith(("/", "~", "../")):
            found.touches.append(Touch(Verb.READ, word))
        elif word not in ("HEAD", ".") and not colon:
            found.touches.append(Touch(Verb.LIST, word))


def _commit(program: Program, args: tuple[str, ...], found: Found) -> None:
    if found.operands:
        found.remark(Decision.ASK, "git commit paths", "a commit takes the whole tree; it names paths")


def _switch(program: Program, args: tuple[str, ...], found: Found) -> None:
    creates = any(word in ("-c", "--create") for word in args)
    if not creates or len(found.operands) > 1:
        found.remark(Decision.ASK, "git switch", "changes the working tree to another commit")


_FORCED = ("--force", "-f", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "-d", "--prune", "--all", "--branches", "--tags", "--follow-tags")


def _push(program: Program, args: tuple[str, ...], found: Found) -> None:
    """The remote is checked against the recorded ones by the boundary."""
    remote, refs = (found.operands[0], found.operands[1:]) if found.operands else ("origin", [])
    push_target(remote, tuple(refs), found)


def push_target(remote: str, refs: tuple[str, ...], found: Found) -> None:
    """The remarks of a push, for the action and for the program alike."""
    found.network = True
    found.changes = True
    if remote.startswith("-") or any(ref.startswith("-") for ref in refs):
        found.veto("git push option", "a remote or reference looks like an option")
    elif URL.match(remote) or "/" in remote or remote in (".", ".."):
        found.veto("git push address", "pushes to an address that was not recorded with the workspace")
    found.remotes.append(remote)
    for ref in refs:
        if ref.startswith("+") or ref.startswith(":") or "*" in ref:
            found.remark(Decision.ESCALATE, "git push rewrite", "rewrites or deletes what others have")


def _config(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Reading one value is harmless, unless it may be a credential."""
    reading = any(word in ("--get", "--list", "-l", "--get-all", "--get-regexp", "get", "list") for word in args)
    if not reading:
        found.remark(Decision.ASK, "git config", "settings of git can run programs")
        found.changes = True
    if any(word.casefold().startswith("credential") or "token" in word.casefold() or "extraheader" in word.casefold() for word in args):
        found.remark(Decision.ESCALATE, "git config credential", "may print or set a credential")
    if any(word in ("--global", "--system") for word in args):
        found.remark(Decision.ESCALATE, "git config global", "settings outside the worktree")


def _branch(program: Program, args: tuple[str, ...], found: Found) -> None:
    listing = any(word in ("--list", "-l", "-a", "-r", "--show-current", "--contains", "-v", "-vv", "--merged", "--no-merged") for word in args)
    if found.operands and not listing:
        found.remark(Decision.ASK, f"{program.name} write", "makes or changes a reference")
        found.changes = True


def _only(*words: str) -> object:
    """A reader for subcommands of which only some second words merely look."""

    def reader(program: Program, args: tuple[str, ...], found: Found) -> None:
        first = next(iter(found.operands), "")
        if first not in words:
            found.remark(Decision.ASK, f"{program.name} {first}".strip(), "changes the repository")
            found.changes = True

    return reader


def _global(program: Program, args: tuple[str, ...], found: Found) -> None:
    """The options before the subcommand."""
    words = list(args)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        name = word.partition("=")[0]
        if word in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "--help", "-h", "--no-replace-objects", "--no-lazy-fetch", "--no-advice"):
            continue
        if name == "-C" and words:
            found.cwd = words.pop(0)
            found.touches.append(Touch(Verb.LIST, found.cwd))
            if found.cwd.startswith(("/", "~", "..")):
                found.remark(Decision.ASK, "git -C", "works on another repository")
            continue
        if word in ("-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source") and words:
            words.pop(0)
        found.remark(Decision.ASK, f"git {name}", "an option before the subcommand can change what git runs or where")
        found.changes = True
    if words:
        found.inner.append(("git", *words))
    elif not any(word in args for word in ("--version", "--help", "-h")):
        found.remark(Decision.ASK, "git", "names no subcommand")


SUBCOMMANDS = table(
    *(_looks(name) for name in ("status", "diff", "log", "show", "blame", "ls-files", "ls-tree", "rev-parse", "rev-list", "describe", "shortlog", "merge-base", "name-rev", "diff-tree", "diff-index", "diff-files", "whatchanged", "range-diff", "for-each-ref", "show-ref", "show-branch", "cherry", "check-ignore", "count-objects", "version", "var", "annotate", "check-attr", "fsck")),
    _looks("cat-file", asks("runs filters of the configuration", "--filters", "--textconv", value=Value.NONE)),
    Program("git grep", reads_only=True, strict=True, operands=Operands.DATA, options=(
        runs("-O", "--open-files-in-pager", value=Value.JOINED), takes("-e", "-A", "-B", "-C", "--max-depth", "-f"),
        flags(*(f"-{letter}" for letter in "abcEFGhHiIlLnopqvwWz"), "--cached", "--untracked", "--name-only", "--count", "--line-number", "--ignore-case", "--no-color"), asks("reads files that are not of the repository", "--no-index"))),
    Program("git help", reads_only=True, operands=Operands.DATA),
    Program("git commit", operands=Operands.DATA, strict=True, reader=_commit, options=(
        takes("-m", "--message"), flags("-a", "--all", "-q", "--quiet", "-v", "--verbose", "-s", "--signoff", "--no-edit", "--allow-empty-message", "--no-gpg-sign", "--dry-run", "--short", "--porcelain"),
        asks("skips the operator's own checks", "--no-verify", "-n"), asks("rewrites a commit", "--amend"), asks("names another author or time", "--author", "--date", value=Value.NEEDED))),
    Program("git switch", operands=Operands.DATA, strict=True, reader=_switch, options=(takes("-c", "--create"), flags("-q", "--quiet", "--no-guess", "--no-track"))),
    Program("git add", operands=Operands.LIST, strict=True, options=(flags("-A", "--all", "-u", "--update", "-v", "--verbose", "-n", "--dry-run", "-N", "--intent-to-add", "--ignore-errors"),)),
    Program("git push", Decision.ASK, "sends the run's work to others", network=True, operands=Operands.DATA, reader=_push, strict=True, options=(
        escalates("rewrites or deletes what others have", *_FORCED, value=Value.JOINED), runs("--receive-pack", "--exec"), asks("talks to the server's hooks", "-o", "--push-option", value=Value.NEEDED),
        asks("skips the operator's own checks", "--no-verify"), flags("-u", "--set-upstream", "-q", "--quiet", "-v", "--verbose", "-n", "--dry-run", "--porcelain", "--progress", "--no-progress", "--atomic", "-4", "-6", "--thin"))),
    *(_asks(name, "talks to a remote", network=True, options=(runs("--upload-pack", "-u"),)) for name in ("fetch", "pull", "clone", "ls-remote", "remote-update", "archive", "submodule", "send-email", "request-pull", "fetch-pack", "send-pack", "svn", "p4", "cvsimport", "lfs", "daemon", "instaweb", "http-fetch", "http-push", "imap-send")),
    Program("git remote", operands=Operands.DATA, reads_only=True, reader=_only("", "show", "get-url")),  # type: ignore[arg-type]
    Program("git stash", operands=Operands.DATA, reads_only=True, reader=_only("list", "show")),  # type: ignore[arg-type]
    Program("git worktree", operands=Operands.DATA, reads_only=True, reader=_only("list")),  # type: ignore[arg-type]
    Program("git reflog", operands=Operands.DATA, reads_only=True, reader=_only("", "show", "exists")),  # type: ignore[arg-type]
    Program("git notes", operands=Operands.DATA, reads_only=True, reader=_only("list", "show")),  # type: ignore[arg-type]
    Program("git branch", operands=Operands.DATA, reads_only=True, strict=True, options=(*_SHOWN, asks("changes or deletes a branch", "-D", "-d", "--delete", "-m", "-M", "--move", "-C", "--copy", "-f", "--force", "-u", "--set-upstream-to", "--edit-description")), reader=_branch),
    Program("git tag", operands=Operands.DATA, reads_only=True, strict=True, options=(flags("-l", "--list", "-n"), joined("--sort", "--contains", "--points-at", "--format")), reader=_branch),
    Program("git config", operands=Operands.DATA, reads_only=True, reader=_config),
    *(_asks(name, why) for name, why in (
        ("reset", "discards work"), ("checkout", "discards work or changes the tree"), ("restore", "discards work"), ("clean", "removes files"), ("rm", "removes files"), ("mv", "moves files"),
        ("merge", "changes the tree"), ("rebase", "rewrites commits and can run commands"), ("cherry-pick", "changes the tree"), ("revert", "changes the tree"), ("bisect", "changes the tree and can run commands"),
        ("apply", "changes files"), ("am", "makes commits"), ("gc", "removes what nothing refers to"), ("prune", "removes what nothing refers to"), ("repack", "rewrites the repository"),
        ("update-ref", "moves or deletes references"), ("symbolic-ref", "moves references"), ("replace", "makes history show other content"), ("filter-branch", "rewrites history and runs commands"), ("filter-repo", "rewrites history"),
        ("init", "makes a repository, from a template that can hold hooks"), ("difftool", "runs a program"), ("mergetool", "runs a program"), ("update-index", "changes the index"), ("read-tree", "changes the index"), ("write-tree", "writes objects"),
        ("commit-tree", "makes commits"), ("hash-object", "writes objects"), ("fast-import", "writes history"), ("fast-export", "prints the whole history"), ("bundle", "writes a file"), ("format-patch", "writes files"), ("maintenance", "starts background work"), ("hook", "runs hooks"),
        ("credential", "prints credentials"), ("sparse-checkout", "changes the tree"), ("checkout-index", "writes files"), ("gui", "starts a program"), ("web--browse", "starts a program"), ("rerere", "changes files"), ("shell", "starts a shell"),
    )),
)

GIT = table(
    Program("git", raw=True, reads_only=True, reader=_global, subcommands=SUBCOMMANDS),
)
"""`git` reads its own options first; the subcommand comes back as an inner command line."""
