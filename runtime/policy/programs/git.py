"""Git: a way to run code, so every subcommand and option is known or looked at."""

from __future__ import annotations

import re

from ..decision import Decision
from ..reading import Touch, Verb
from ..words import listed
from . import git_content
from .git_options import SHOWN, WRITING
from .model import (
    Found,
    Operands,
    Option,
    Program,
    Reader,
    Value,
    asks,
    escalates,
    flags,
    joined,
    letters,
    reads,
    runs,
    table,
    takes,
)

ADDRESS = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*:)?//|[^/:\s]+@[^:\s]+:|[A-Za-z][A-Za-z0-9+-]*::|[^/\s:]+:\S"
)
_QUIET_GLOBALS = frozenset(
    listed("""
    --no-pager -P --no-optional-locks --literal-pathspecs --version --help -h
    --no-replace-objects --no-lazy-fetch --no-advice
    """)
)
_VALUED_GLOBALS = frozenset(
    listed("-c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source")
)


_SHOWING = re.compile(r"(?i)(core\.(quotepath|abbrev)|color\.[a-z.]+|advice\.[a-z]+)=[\w-]*")
"""Settings that change nothing but how something is shown."""


def _global(program: Program, args: tuple[str, ...], found: Found) -> None:
    """The options before the subcommand; what follows them comes back as a command line."""
    words = list(args)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        name = word.partition("=")[0]
        if word in _QUIET_GLOBALS:
            continue
        if name == "-C" and words:
            found.cwd = words.pop(0)
            found.touches.append(Touch(Verb.LIST, found.cwd))
            if found.cwd.startswith(("/", "~", "..")):
                found.remark(Decision.ASK, "git -C", "works on another repository")
            continue
        if word == "-c" and words and _SHOWING.fullmatch(words[0]):
            words.pop(0)
            continue
        if word in _VALUED_GLOBALS and words:
            words.pop(0)
        reason = f"{name} before the subcommand can change what git runs, or where"
        found.remark(Decision.ASK, f"git {name}", reason)
        found.changes = True
    if words:
        found.inner.append(("git", *words))
    elif not any(word in ("--version", "--help", "-h") for word in args):
        found.remark(Decision.ASK, "git", "git without a subcommand")


def _revisions(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`HEAD:path` and `:path` show a file; other words may be paths as well."""
    _content(program, args, found)
    for word in found.operands:
        _, colon, path = word.partition(":")
        if colon and path and not path.startswith("/"):
            found.touches.append(Touch(Verb.READ, path))
        elif not colon and word not in ("HEAD", "."):
            found.touches.append(Touch(Verb.READ, word, deep=True))


def _content(program: Program, args: tuple[str, ...], found: Found) -> None:
    git_content.see(program.name.rpartition(" ")[2], args, found)


def _commit(program: Program, args: tuple[str, ...], found: Found) -> None:
    if found.operands:
        found.remark(Decision.ASK, "git commit paths", "a commit takes the whole tree, not paths")


def _switch(program: Program, args: tuple[str, ...], found: Found) -> None:
    creates = any(word in ("-c", "--create") for word in args)
    if not creates or len(found.operands) > 0:
        found.remark(Decision.ASK, "git switch", "changes the working tree to another commit")


def _checkout(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`checkout -b NAME` makes a branch where the work stands; all else changes the tree."""
    words = [word for word in args if word not in ("-q", "--quiet")]
    if not (len(words) == 2 and words[0] == "-b" and not words[1].startswith("-")):
        reason = "git checkout discards work or changes the tree"
        found.remark(Decision.ASK, "git checkout", reason)
        found.touches += [
            Touch(Verb.READ, word) for word in args if word.startswith(("/", "~", "../"))
        ]


def _push(program: Program, args: tuple[str, ...], found: Found) -> None:
    remote = found.operands[0] if found.operands else None
    push_target(remote, tuple(found.operands[1:]), found)


def push_target(remote: str | None, refs: tuple[str, ...], found: Found) -> None:
    """The remarks of a push, for the action and for the program alike. Whether the remote was
    recorded, the boundary knows."""
    found.network = True
    found.changes = True
    words = (remote or "", *refs)
    if any(word.startswith("-") for word in words):
        found.veto("git push option", "a remote or reference looks like an option")
    elif remote is not None and (
        ADDRESS.match(remote) or "/" in remote or remote in ("", ".", "..", "~")
    ):
        reason = "pushes to an address that was not recorded with the workspace"
        found.veto("git push address", reason)
    found.remotes.append(remote)
    if any(ref.startswith(("+", ":")) or "*" in ref for ref in refs):
        reason = "rewrites or deletes what others have"
        found.remark(Decision.ESCALATE, "git push rewrite", reason)


_READING_CONFIG = frozenset(listed("--get --list -l --get-all --get-regexp"))
_SHOWING_CONFIG = frozenset(
    listed("--show-origin --show-scope --local -z --null --name-only --includes --global --system")
)


def _reads_config(args: tuple[str, ...]) -> bool:
    """Whether the words ask for settings: the option or subcommand in front says so, or there is
    one name and no value. What follows is a name or a value, whatever it looks like."""
    words = [word for word in args if word not in _SHOWING_CONFIG]
    first = words[0] if words else ""
    if first in _READING_CONFIG or first in ("get", "list"):
        return True
    return len(words) == 1 and not first.startswith("-") and "." in first


def _config(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Reading one value is harmless, unless it may be a credential."""
    if not _reads_config(args):
        found.remark(Decision.ASK, "git config", "settings of git can run programs")
        found.changes = True
    if any(re.search(r"(?i)credential|token|extraheader|password", word) for word in args):
        reason = "may print or set a credential"
        found.remark(Decision.ESCALATE, "git config credential", reason)
    if any(word in ("--global", "--system") for word in args):
        found.remark(Decision.ESCALATE, "git config global", "settings outside the worktree")
    if any(word in ("-f", "--file") or word.startswith("--file=") for word in args):
        found.remark(Decision.ASK, "git config file", "reads or writes another settings file")


_LISTING = frozenset(
    listed("--list -l -a -r --show-current --contains -v -vv --merged --no-merged")
)


def _references(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Branches and tags: listed, or made."""
    _content(program, args, found)
    if found.operands and not _LISTING.intersection(args):
        found.remark(Decision.ASK, f"{program.name} write", "makes or changes a reference")
        found.changes = True


def _only(*words: str) -> Reader:
    """A reader for subcommands of which only some second words merely look."""

    def reader(program: Program, args: tuple[str, ...], found: Found) -> None:
        _content(program, args, found)
        first = next(iter(found.operands), "")
        if first not in words:
            found.remark(Decision.ASK, f"{program.name} {first}".strip(), "changes the repository")
            found.changes = True

    return reader


def _looks(names: str, *extra: Option, reader: Reader = _revisions) -> tuple[Program, ...]:
    """Subcommands that only read, as long as their options are known."""
    return tuple(
        Program(
            f"git {name}",
            reads_only=True,
            strict=True,
            operands=Operands.DATA,
            options=(*extra, *SHOWN),
            reader=reader,
        )
        for name in names.split()
    )


def _partly(name: str, *quiet: str) -> Program:
    reader = _only(*quiet)
    return Program(
        f"git {name}", operands=Operands.DATA, reads_only=True, options=SHOWN, reader=reader
    )


_PUSH = (
    escalates(
        "rewrites or deletes what others have",
        "--force -f --force-with-lease --force-if-includes --mirror --delete -d --prune --all"
        " --branches --tags --follow-tags",
        Value.JOINED,
    ),
    runs("--receive-pack --exec"),
    asks("talks to the server's hooks", "-o --push-option", Value.NEEDED),
    asks("skips the operator's own checks", "--no-verify"),
    flags("-u --set-upstream -q --quiet -v --verbose -n --dry-run --porcelain --progress"),
    flags("--no-progress --atomic -4 -6 --thin"),
)
_COMMIT = (
    takes("-m --message"),
    flags("-a --all -q --quiet -v --verbose -s --signoff --no-edit --allow-empty-message"),
    flags("--no-gpg-sign --dry-run --short --porcelain"),
    asks("skips the operator's own checks", "--no-verify -n"),
    asks("rewrites a commit", "--amend"),
    Option(
        ("-F", "--file"), Value.NEEDED, Verb.READ, Decision.ASK, "takes its message from a file"
    ),
    asks("names another author or time", "--author --date", Value.NEEDED),
)
_GREP = (
    runs("-O --open-files-in-pager", Value.JOINED),
    takes("-e -A -B -C --max-depth"),
    reads("-f"),
    letters("abcEFGhHiIlLnopqvwWz"),
    flags("--and --or --not --all-match --cached --untracked --name-only --count --line-number"),
    flags("--ignore-case --no-color"),
    asks("reads files that are not of the repository", "--no-index"),
)
_BRANCH = asks(
    "changes or deletes a branch",
    "-D -d --delete -m -M --move -C --copy -f --force -u --set-upstream-to --edit-description",
)

SUBCOMMANDS = table(
    *_looks(
        """
        status diff log show blame ls-files ls-tree rev-parse rev-list describe shortlog
        merge-base name-rev diff-tree diff-index diff-files whatchanged range-diff for-each-ref
        show-ref show-branch cherry check-ignore count-objects version var annotate check-attr
        fsck
        """
    ),
    *_looks("cat-file", asks("runs filters of the configuration", "--filters --textconv")),
    Program(
        "git grep",
        reads_only=True,
        strict=True,
        operands=Operands.READ,
        skip=1,
        options=_GREP,
        reader=_content,
    ),
    Program(
        "git help",
        reads_only=True,
        operands=Operands.DATA,
        options=(
            flags("-a --all -g --guides -c --config --no-pager"),
            asks("starts a viewer", "-w --web -i --info -m --man"),
        ),
    ),
    Program("git commit", operands=Operands.DATA, strict=True, reader=_commit, options=_COMMIT),
    Program(
        "git switch",
        operands=Operands.DATA,
        strict=True,
        reader=_switch,
        options=(takes("-c --create"), flags("-q --quiet --no-guess --no-track")),
    ),
    Program("git checkout", raw=True, reader=_checkout),
    Program(
        "git add",
        operands=Operands.LIST,
        strict=True,
        options=(flags("-A --all -u --update -v --verbose -n --dry-run -N --ignore-errors"),),
    ),
    Program(
        "git push",
        Decision.ASK,
        "sends the run's work to others",
        network=True,
        operands=Operands.DATA,
        reader=_push,
        strict=True,
        options=_PUSH,
    ),
    _partly("remote", "", "get-url"),
    _partly("stash", "list", "show"),
    _partly("worktree", "list"),
    _partly("reflog", "", "show", "exists"),
    _partly("notes", "list", "show"),
    *_looks("branch", _BRANCH, reader=_references),
    Program(
        "git tag",
        operands=Operands.DATA,
        reads_only=True,
        strict=True,
        options=(flags("-l --list -n"), joined("--sort --contains --points-at --format")),
        reader=_references,
    ),
    Program("git config", operands=Operands.DATA, reads_only=True, reader=_config),
    *(
        Program(
            f"git {name}",
            Decision.ASK,
            "talks to a remote",
            network=True,
            operands=Operands.FREE,
            options=(runs("--upload-pack -u --exec"),),
            reader=_content,
        )
        for name in WRITING["talks to a remote"].split()
    ),
    *(
        Program(f"git {name}", Decision.ASK, why, operands=Operands.FREE, reader=_content)
        for why, names in WRITING.items()
        if why != "talks to a remote"
        for name in names.split()
    ),
)

GIT = table(Program("git", raw=True, reads_only=True, reader=_global, subcommands=SUBCOMMANDS))
"""`git` reads its own options first; the subcommand comes back as an inner command line."""
