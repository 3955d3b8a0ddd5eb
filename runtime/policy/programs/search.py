"""Programs whose arguments are a small language: search and stream editors."""

from __future__ import annotations

import re

from ..decision import Decision
from ..reading import Touch, Verb
from .model import (
    Found,
    Operands,
    Program,
    asks,
    flags,
    follows,
    joined,
    letters,
    reads,
    runs,
    table,
    takes,
)
from .sed import read_sed

_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_FIND_READS = frozenset({"-newer", "-anewer", "-cnewer", "-samefile", "-files0-from"})


def _find(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Starting points first, then the expression."""
    words = list(args)
    found.follows = "-follow" in words
    while words and re.fullmatch(r"-[HLP]|-O\d*|-D|--", words[0]):
        word = words.pop(0)
        found.follows = found.follows or word == "-L"
        if word == "-D" and words:
            words.pop(0)
    starts = []
    while words and not words[0].startswith(("-", "(", "!", ",")):
        starts.append(words.pop(0))
    found.touches += [Touch(Verb.LIST, start, deep=True) for start in starts or ["."]]
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        if word in _FIND_RUNS:
            inner = tuple(_until_end(words[index + 1 :]))
            found.inner.append(inner)
            found.remark(Decision.ASK, f"find {word}", "runs a program for what it finds")
            found.changes = True
        elif word == "-delete":
            found.remark(Decision.ASK, "find -delete", "removes what it finds")
            found.touches += [
                Touch(Verb.DELETE, start, deep=True) for start in starts if start != "."
            ]
            found.changes = True
        elif word in _FIND_WRITES:
            found.touches.append(Touch(Verb.WRITE, following))
            found.changes = True
        elif word in _FIND_READS or word.startswith("-newer"):
            found.touches.append(Touch(Verb.LIST, following))


def _until_end(words: list[str]) -> list[str]:
    inner = []
    for word in words:
        if word in (";", "+"):
            break
        inner.append(word)
    return inner


_AWK_RISKY = re.compile(r"system|getline|\bclose\b|@|ENVIRON|ARG[VC]|\bfflush\b|/inet|PROCINFO")
_AWK_SENDS = re.compile(r"print.*[>|]", re.DOTALL)
"""Output goes elsewhere only behind `print` or `printf`; before it these signs compare."""


def _awk(program: Program, args: tuple[str, ...], found: Found) -> None:
    words = list(args)
    code: str | None = None
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        if word in ("-F", "-v", "--field-separator", "--assign"):
            del words[:1]
        elif not word.startswith(("-F", "-v", "--field-separator=", "--assign=")):
            found.opaque("awk option", f"awk takes code or a library from elsewhere: {word}")
            found.changes = True
            code = ""
    if code is None and words:
        code = words.pop(0)
        if _AWK_RISKY.search(code) or _AWK_SENDS.search(code):
            found.opaque("awk code", "the awk program may run commands or write files")
            found.changes = True
    found.touches += [
        Touch(Verb.READ, path)
        for path in words
        if not re.match(r"[A-Za-z_]\w*=", path) and path != "-"
    ]


_GREP_OPTIONS = (
    takes("-e --regexp -A -B -C -m --max-count --include --exclude --exclude-dir -d -D --label"),
    takes("--after-context --before-context --context"),
    reads("-f --file --exclude-from"),
    joined("--color --colour --binary-files --directories"),
    flags("-r --recursive"),
    follows("-R --dereference-recursive"),
    letters("abcEFGhHiIlLnoPqsTuUvVwxyZz"),
    flags("--ignore-case --line-number --count --files-with-matches --files-without-match"),
    flags("--invert-match --word-regexp --fixed-strings --extended-regexp --perl-regexp"),
    flags("--only-matching --quiet --silent --no-messages --with-filename --no-filename --null"),
    flags("--line-regexp --text --help --version"),
)
_RG_OPTIONS = (
    runs("--pre --hostname-bin"),
    takes("-e --regexp -g --glob --iglob -t --type -T --type-not -A -B -C --after-context"),
    takes("--before-context --context -m --max-count -r --replace -d --max-depth -j --threads"),
    takes("-M --max-columns --sort --sortr --type-add --color --colors --pre-glob -E --encoding"),
    takes("--engine"),
    reads("-f --file --ignore-file"),
    letters("abchHiIlnNopPqsSuUvVwx0F."),
    follows("-L --follow"),
    asks("runs programs that unpack", "-z --search-zip"),
    flags("--files --hidden --no-ignore --ignore-case --smart-case --line-number --no-heading"),
    flags("--heading --count --files-with-matches --fixed-strings --word-regexp --multiline"),
    flags("--json --vimgrep --no-filename --with-filename --only-matching --invert-match --stats"),
    flags("--trim --text --no-line-number --pcre2 --column --type-list --version --help"),
    flags("--quiet --null --no-config --no-messages --unrestricted --multiline-dotall"),
    flags("--files-without-match --count-matches --passthru"),
)
_FD_OPTIONS = (
    runs("-x --exec -X --exec-batch"),
    takes("-e --extension -t --type -d --max-depth -E --exclude"),
    letters("HIal0isgp"),
)


def _default_here(program: Program, args: tuple[str, ...], found: Found) -> None:
    """A recursive search without a path searches the working directory."""
    given = set(args)
    short = {
        letter
        for word in args
        if word.startswith("-") and not word.startswith("--")
        for letter in word[1:]
    }
    explicit = given & {"--regexp", "-e", "-f", "--file", "--files"} or "e" in short
    paths = found.operands if explicit else found.operands[1:]
    recursive = (
        program.name != "grep"
        or short & {"r", "R"}
        or given & {"--recursive", "--dereference-recursive"}
    )
    if recursive and not paths:
        found.touches.append(Touch(Verb.READ, ".", deep=True))


SEARCH = table(
    Program("find", reads_only=True, raw=True, reader=_find),
    Program("sed", reads_only=True, raw=True, reader=read_sed),
    *(
        Program(name, reads_only=True, raw=True, reader=_awk)
        for name in ("awk", "gawk", "mawk", "nawk")
    ),
    *(
        Program(
            name,
            reads_only=True,
            strict=True,
            operands=Operands.READ,
            skip=1,
            skip_unless=("-e", "-f"),
            options=_GREP_OPTIONS,
            deep_options=("-r", "-R"),
            reader=_default_here,
        )
        for name in ("grep", "egrep", "fgrep", "zgrep")
    ),
    Program(
        "rg",
        reads_only=True,
        strict=True,
        operands=Operands.READ,
        skip=1,
        skip_unless=("-e", "-f", "--files"),
        options=_RG_OPTIONS,
        deep=True,
        reader=_default_here,
    ),
    Program(
        "ag",
        reads_only=True,
        strict=True,
        operands=Operands.READ,
        skip=1,
        deep=True,
        options=(runs("--pager"), letters("ilnwQ")),
    ),
    *(
        Program(
            name,
            reads_only=True,
            operands=Operands.LIST,
            skip=1,
            strict=True,
            options=_FD_OPTIONS,
        )
        for name in ("fd", "fdfind")
    ),
)
