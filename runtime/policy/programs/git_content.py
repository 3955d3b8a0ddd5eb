"""Which words make git show the content of files that nobody names: then it reads the whole tree.

Told apart are options that only count, list or sort; any other one may show content.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..reading import Touch, Verb
from ..words import listed
from .model import Found

_COMMIT = re.compile(r"(HEAD|@)([~^]\d*)*")
"""Words that mean a commit, whatever files and objects there are."""
_OBJECT = re.compile(r"[0-9a-fA-F]{4,64}")
"""May be the name of a tree, in which paths begin elsewhere."""
_TYPES = frozenset(listed("blob commit tag tree"))
_LIMITED = frozenset(listed("log diff show"))
"""Show nothing but the paths that are named."""
_STAGE = re.compile(r":[0-3]:(.+)")
_LETTERS = re.compile(r"-([zsiEFPrtqMCm0-9]+|n.*|[MCB]\d+%?)")
"""Short options of log and diff that show no content."""
_QUIET = frozenset(
    listed("""
    --stat --shortstat --numstat --summary --name-only --name-status --raw --dirstat --no-patch
    --compact-summary --quiet --stat-width --stat-count --oneline --graph --all --decorate
    --no-decorate --reverse --merges --no-merges --first-parent --follow --no-color --color
    --format --pretty --abbrev-commit --no-abbrev-commit --abbrev --date --since --until --after
    --before --author --committer --grep --max-count --skip --topo-order --date-order --parents
    --children --no-notes --notes --branches --tags --remotes --left-right --cherry
    --cherry-pick --cherry-mark --boundary --simplify-by-decoration --full-history --no-pager
    --no-walk --diff-filter --find-renames --find-copies --no-renames --relative --no-relative
    --no-ext-diff --no-textconv --left-only --right-only --count --show-pulls --ancestry-path
    --dense --sparse --simplify-merges --clear-decorations --encoding --mailmap --no-mailmap
    --decorate-refs --ignore-submodules --cached --staged --merge-base --exit-code --root
    --no-commit-id --max-age --min-age --max-parents --min-parents --glob --exclude --help
    """)
)
_SUMMARY = frozenset(
    listed("""
    --stat --shortstat --numstat --summary --name-only --name-status --raw --dirstat --no-patch -s
    --compact-summary --quiet
    """)
)
_SHOWS = frozenset(listed("diff show range-diff"))
_LOGS = frozenset(listed("log whatchanged diff-tree diff-index diff-files reflog"))
_ALWAYS = frozenset(
    listed("""
    archive fast-export bundle format-patch pack-objects difftool send-email request-pull
    """)
)


def see(name: str, args: tuple[str, ...], found: Found) -> None:
    """Note in `found` what a subcommand shows without naming it."""
    options = [word for word in _before(args) if word.startswith("-") and word != "-"]
    judge = _JUDGES.get(name)
    if name in _ALWAYS or (judge is not None and judge(options, args)):
        _whole(name, args, found)
    if name == "grep":
        _searched(args, found)


def see_revision(rev: str, path: str | None, found: Found) -> None:
    """The same of the action `git_show`."""
    _rooted(rev, found)
    found.whole = found.whole or not (path or _names(rev, commit=True))


def _before(args: tuple[str, ...]) -> tuple[str, ...]:
    return args[: args.index("--")] if "--" in args else args


def _quiet(options: list[str]) -> bool:
    return all(
        word.partition("=")[0] in _QUIET if word.startswith("--") else _LETTERS.fullmatch(word)
        for word in options
    )


def _as_log(options: list[str], args: tuple[str, ...]) -> bool:
    return not _quiet(options)


def _as_diff(options: list[str], args: tuple[str, ...]) -> bool:
    summary = any(word.partition("=")[0] in _SUMMARY for word in options)
    return not (summary and _quiet(options))


def _as_show(options: list[str], args: tuple[str, ...]) -> bool:
    """An object that is no commit is shown whatever the options say."""
    words = [word for word in _before(args) if not word.startswith("-")]
    return _as_diff(options, args) or not all(map(_COMMIT.fullmatch, words))


def _as_status(options: list[str], args: tuple[str, ...]) -> bool:
    return any(word.startswith("--v") if word.startswith("--") else "v" in word for word in options)


def _as_stash(options: list[str], args: tuple[str, ...]) -> bool:
    return args[:1] == ("show",) or not _quiet(options)


def _as_cat(options: list[str], args: tuple[str, ...]) -> bool:
    return not (options and all(word in ("-e", "-t", "-s") for word in options))


def _as_references(options: list[str], args: tuple[str, ...]) -> bool:
    return any("raw" in word for word in args)


_JUDGES: dict[str, Callable[[list[str], tuple[str, ...]], bool]] = {
    **dict.fromkeys(_LOGS, _as_log),
    **dict.fromkeys(_SHOWS, _as_diff),
    "show": _as_show,
    "status": _as_status,
    "stash": _as_stash,
    "cat-file": _as_cat,
    "for-each-ref": _as_references,
    "branch": _as_references,
    "tag": _as_references,
}


def _whole(name: str, args: tuple[str, ...], found: Found) -> None:
    """Content is shown: of the paths that are named, else of the whole tree."""
    before = _before(args)
    paths = args[len(before) + 1 :]
    words = found.operands[: len(found.operands) - len(paths)]
    named = [word for word in words if not _COMMIT.fullmatch(word)]
    for word in words:
        _rooted(word, found)
    plain = [word for word in named if not _names(word)]
    odd = any(path.startswith(":") or path == "." for path in (*paths, *plain))
    follows = any(word.startswith(("-L", "--fol")) for word in before)
    if name == "cat-file":  # no word is a file's name
        found.whole = found.whole or not named or any(word not in _TYPES for word in plain)
    elif name not in _LIMITED or odd or follows or not (paths or named):
        found.whole = True
    elif paths:  # an object that is no commit is shown whole, whatever paths are behind it
        found.whole = found.whole or (name == "show" and bool(plain))
    else:
        found.unsure += plain


def _names(rev: str, *, commit: bool = False) -> bool:
    """Whether a word names a path of a commit or of the index beyond doubt. `commit`: what is
    before the colon is one."""
    if "{" in rev:
        return False
    if rev.startswith(":"):
        return not rev.startswith((":/", ":(", ":!", ":^"))
    before, _, path = rev.partition(":")
    return bool(path) and (commit or not _OBJECT.fullmatch(before))


def _rooted(rev: str, found: Found) -> None:
    """A path behind a colon begins at the root of the tree, wherever the command works."""
    stage = _STAGE.fullmatch(rev)
    candidates = [stage[1]] if stage else []
    candidates += [rev.partition(":")[2], rev.rpartition(":")[2]] if ":" in rev else []
    found.rooted += [
        Touch(Verb.READ, path)
        for path in dict.fromkeys(candidates)
        if path and not path.startswith("/")
    ]


def _searched(args: tuple[str, ...], found: Found) -> None:
    """`git grep`: all that is below the working directory, or the paths and commits named."""
    before = _before(args)
    given = any(re.match(r"-[a-zA-Z]*[ef]|--and|--or|--not", word) for word in before)
    words = [word for word in found.operands if word != "--"]
    paths = words if given else words[1:]
    found.deeper += [Touch(Verb.READ, path, deep=True) for path in paths]
    found.whole = found.whole or not paths or any(path.startswith(":") for path in paths)
    found.unsure += paths
