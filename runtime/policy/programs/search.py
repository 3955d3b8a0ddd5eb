"""Programs whose arguments are a small language: search, stream editors, archives."""

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
    flags,
    joined,
    moves_to,
    reads,
    runs,
    table,
    takes,
    writes,
)

_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_FIND_READS = frozenset({"-newer", "-anewer", "-cnewer", "-samefile", "-files0-from"})


def _find(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Starting points first, then the expression."""
    words = list(args)
    while words and words[0] in ("-H", "-L", "-P"):
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
            found.touches += [Touch(Verb.DELETE, start, deep=True) for start in starts if start != "."]
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


_SED_FILE = re.compile(r"(?:^|[;{}\n]|[0-9$/])\s*[rRwW]\s*([^\s;}]\S*)")
_SED_PLAIN = re.compile(
    r"(?:\s*(?:[0-9$]+(?:,[0-9$+~]+)?|/(?:[^/\\\n]|\\.)*/I?(?:,(?:[0-9$]+|/(?:[^/\\\n]|\\.)*/))?)?\s*!?\s*"
    r"(?:[pdqQnNgGhHxDPl=][0-9]*|s/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/[gpiI0-9]*"
    r"|s\|(?:[^|\\\n]|\\.)*\|(?:[^|\\\n]|\\.)*\|[gpiI0-9]*|s#(?:[^#\\\n]|\\.)*#(?:[^#\\\n]|\\.)*#[gpiI0-9]*"
    r"|s,(?:[^,\\\n]|\\.)*,(?:[^,\\\n]|\\.)*,[gpiI0-9]*"
    r"|y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/|[aic]\\?\s*[^\n\\]*)\s*(?:;|\n|$))*"
)


def _sed(program: Program, args: tuple[str, ...], found: Found) -> None:
    """A script of the plain commands is read; anything else may run or write."""
    scripts: list[str] = []
    files: list[str] = []
    in_place = False
    words = list(args)
    explicit = False
    while words:
        word = words.pop(0)
        if word == "--":
            files += words
            break
        if word in ("-e", "--expression") or (word.startswith("-") and not word.startswith("--") and word[-1:] == "e" and set(word[1:]) <= set("nErsuze")):
            explicit = True
            scripts += words[:1]
            del words[:1]
        elif word.startswith("--expression="):
            explicit = True
            scripts.append(word.partition("=")[2])
        elif word in ("-f", "--file") or word.startswith("--file="):
            explicit = True
            name = word.partition("=")[2] or (words.pop(0) if words else "")
            found.touches.append(Touch(Verb.READ, name))
            found.opaque("sed -f", "the sed script is in a file that was not read")
        elif word.startswith(("-i", "--in-place")):
            in_place = True
        elif word.startswith("-") and word != "-":
            if not (set(word[1:]) <= set("nErsuz") or word in _SED_LONG):
                found.remark(Decision.ASK, "sed unknown option", f"sed has an unknown option: {word}")
            if "i" in word[1:] and not word.startswith("--"):
                in_place = True
        else:
            files.append(word)
    if not explicit:
        scripts, files = files[:1], files[1:]
    for script in scripts:
        if not _SED_PLAIN.fullmatch(script):
            found.opaque("sed script", "the sed script may run commands or write files")
            found.changes = True
            found.touches += [Touch(Verb.WRITE, name) for name in _SED_FILE.findall(script)]
    found.changes = found.changes or in_place
    verb = Verb.WRITE if in_place else Verb.READ
    found.touches += [Touch(verb, path) for path in files if path != "-"]


_SED_LONG = frozenset(
    {"--quiet", "--silent", "--regexp-extended", "--null-data", "--separate", "--unbuffered", "--posix", "--debug", "--sandbox", "--help", "--version", "-l"}
)
_AWK_RISKY = re.compile(r"system|getline|\||>|\bclose\b|@|ENVIRON|\bfflush\b|/inet")


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
        if _AWK_RISKY.search(code):
            found.opaque("awk code", "the awk program may run commands or write files")
            found.changes = True
    found.touches += [Touch(Verb.READ, path) for path in words if "=" not in path and path != "-"]


_TAR_RUNS = ("--checkpoint-action", "--to-command", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command")
_TAR_OPTIONS = (
    Option(("-f", "--file"), Value.NEEDED),
    runs(*_TAR_RUNS, "-I", "-F"),
    moves_to("-C", "--directory"),
    takes("--exclude", "--strip-components", "--transform", "--xform", "--owner", "--group", "--mode", "--mtime", "--checkpoint", "--format"),
    reads("-T", "--files-from", "-X", "--exclude-from"),
    asks("follows absolute names", "-P", "--absolute-names"),
    asks("removes what it packs", "--remove-files"),
    flags(*(f"-{letter}" for letter in "cxtruzjJvkpmhOaAdnSWU"), "--extract", "--get", "--create", "--list", "--gzip", "--bzip2", "--xz", "--zstd", "--verbose", "--keep-old-files", "--no-same-owner", "--append", "--update", "--diff", "--to-stdout", "--auto-compress"),
)


def _tar(program: Program, args: tuple[str, ...], found: Found) -> None:
    """The first word may be a bundle without its dash; -C decides where extraction writes."""
    from ..options import read_options

    words = args
    if words and not words[0].startswith("-"):
        words = _unbundled(words)
    plain = Program("tar", options=_TAR_OPTIONS, strict=True, operands=Operands.DATA)
    members = read_options(plain, words, found)
    modes = {letter for word in words if word.startswith("-") and not word.startswith("--") for letter in word}
    long = {word.partition("=")[0] for word in words if word.startswith("--")}
    archive = _after(words, "f", "--file")
    target, found.cwd = found.cwd or ".", None
    extracts = "x" in modes or long & {"--extract", "--get"}
    lists = "t" in modes or "--list" in long
    if extracts and not ("O" in modes or "--to-stdout" in long):
        found.touches.append(Touch(Verb.WRITE, target, deep=True))
        found.changes = True
        if target in ("/", "~", ".."):
            found.veto("tar extract", "unpacks over the system")
    if not lists and not extracts:
        found.changes = True
        found.touches += [Touch(Verb.READ, f"{target}/{name}" if target != "." and not name.startswith("/") else name, deep=True) for name in members]
    if archive and archive != "-":
        verb = Verb.READ if extracts or lists else Verb.WRITE
        found.touches.append(Touch(verb, archive))
        if ":" in archive:
            found.remark(Decision.ASK, "tar remote", "the archive's name means another host")


def _unbundled(words: tuple[str, ...]) -> tuple[str, ...]:
    """`cfC a.tar dir x` as `-c -f a.tar -C dir x`."""
    rest = list(words[1:])
    out: list[str] = []
    for letter in words[0]:
        out.append(f"-{letter}")
        if letter in "fCTXIFbgKLNV" and rest:
            out.append(rest.pop(0))
    return (*out, *rest)


def _after(words: tuple[str, ...], letter: str, long: str) -> str:
    for index, word in enumerate(words):
        if word.startswith(f"{long}="):
            return word.partition("=")[2]
        cluster = word.startswith("-") and not word.startswith("--") and letter in word
        if word == long or (cluster and word.endswith(letter)):
            return words[index + 1] if index + 1 < len(words) else ""
        if cluster:
            return word.partition(letter)[2]
    return ""


_GREP_OPTIONS = (
    takes("-e", "--regexp", "-A", "-B", "-C", "-m", "--max-count", "--include", "--exclude", "--exclude-dir", "--after-context", "--before-context", "--context", "--label", "-d", "-D"),
    reads("-f", "--file", "--exclude-from"),
    joined("--color", "--colour", "--binary-files", "--directories"),
    Option(("-r", "-R", "--recursive", "--dereference-recursive")),
    flags(*(f"-{letter}" for letter in "abcEFGhHiIlLnoPqsTuUvVwxyZz"), "--ignore-case", "--line-number", "--count", "--files-with-matches", "--files-without-match", "--invert-match", "--word-regexp", "--fixed-strings", "--extended-regexp", "--perl-regexp", "--only-matching", "--quiet", "--silent", "--no-messages", "--with-filename", "--no-filename", "--null", "--line-regexp", "--text", "--help", "--version"),
)
_RG_OPTIONS = (
    runs("--pre", "--hostname-bin"),
    takes("-e", "--regexp", "-g", "--glob", "--iglob", "-t", "--type", "-T", "--type-not", "-A", "-B", "-C", "--after-context", "--before-context", "--context", "-m", "--max-count", "-r", "--replace", "-d", "--max-depth", "-j", "--threads", "-M", "--max-columns", "--sort", "--sortr", "--type-add", "--color", "--colors", "--pre-glob", "-E", "--encoding", "--engine"),
    reads("-f", "--file", "--ignore-file"),
    flags(*(f"-{letter}" for letter in "abchHiIlLnNopPqsSuUvVwxz0F."), "--files", "--hidden", "--no-ignore", "--ignore-case", "--smart-case", "--line-number", "--no-heading", "--heading", "--count", "--files-with-matches", "--fixed-strings", "--word-regexp", "--multiline", "--json", "--vimgrep", "--no-filename", "--with-filename", "--only-matching", "--invert-match", "--stats", "--trim", "--text", "--no-line-number", "--pcre2", "--follow", "--column", "--type-list", "--version", "--help", "--quiet", "--null", "--no-config", "--no-messages", "--unrestricted", "--multiline-dotall", "--files-without-match", "--count-matches", "--passthru", "--search-zip"),
)


def _default_here(program: Program, args: tuple[str, ...], found: Found) -> None:
    """A recursive search without a path searches the working directory."""
    given = set(args)
    short = {letter for word in args if word.startswith("-") and not word.startswith("--") for letter in word[1:]}
    explicit = given & {"--regexp", "-e", "-f", "--file", "--files"} or "e" in short
    paths = found.operands if explicit else found.operands[1:]
    recursive = program.name != "grep" or short & {"r", "R"} or given & {"--recursive", "--dereference-recursive"}
    if recursive and not paths:
        found.touches.append(Touch(Verb.READ, ".", deep=True))


SEARCH = table(
    Program("find", reads_only=True, raw=True, reader=_find),
    Program("sed", reads_only=True, raw=True, reader=_sed),
    Program("awk", reads_only=True, raw=True, reader=_awk),
    Program("gawk", reads_only=True, raw=True, reader=_awk),
    Program("mawk", reads_only=True, raw=True, reader=_awk),
    Program("nawk", reads_only=True, raw=True, reader=_awk),
    *(
        Program(name, reads_only=True, strict=True, operands=Operands.READ, skip=1, skip_unless=("-e", "-f"), options=_GREP_OPTIONS, deep_options=("-r",), reader=_default_here)
        for name in ("grep", "egrep", "fgrep", "zgrep")
    ),
    Program("rg", reads_only=True, strict=True, operands=Operands.READ, skip=1, skip_unless=("-e", "-f", "--files"), options=_RG_OPTIONS, deep=True, reader=_default_here),
    Program("ag", Decision.ALLOW, reads_only=True, strict=True, operands=Operands.READ, skip=1, deep=True, options=(asks("runs a pager", "--pager", value=Value.NEEDED), flags("-i", "-l", "-n", "-w", "-Q"))),
    Program("fd", reads_only=True, operands=Operands.LIST, skip=1, strict=True, options=(
        runs("-x", "--exec", "-X", "--exec-batch"), takes("-e", "--extension", "-t", "--type", "-d", "--max-depth", "-E", "--exclude"), flags("-H", "-I", "-a", "-l", "-0", "-i", "-s", "-g", "-p"))),
    Program("tar", raw=True, reads_only=True, reader=_tar),
    Program("gzip", operands=Operands.WRITE),
    Program("gunzip", operands=Operands.WRITE),
    Program("zcat", reads_only=True, operands=Operands.READ),
    Program("bzip2", operands=Operands.WRITE),
    Program("xz", operands=Operands.WRITE),
    Program("zstd", operands=Operands.WRITE, options=(writes("-o"),)),
    Program("zip", operands=Operands.WRITE, options=(runs("-TT", "--unzip-command"), asks("removes what it packs", "-m", "--move"))),
    Program("unzip", operands=Operands.READ, options=(Option(("-d",), Value.NEEDED, Verb.WRITE), flags("-o", "-q", "-l", "-n", "-j"))),
)
