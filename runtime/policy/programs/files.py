"""Programs that look at, copy, move and remove files."""

from __future__ import annotations

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
    reads,
    runs,
    table,
    takes,
    writes,
)

_ALL = tuple(f"-{letter}" for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01")
_HELP = flags("--help", "--version")


def _letters(without: str = "") -> Option:
    """Every single-letter flag but some: for readers none of whose letters do anything else."""
    return Option(tuple(name for name in _ALL if name[1] not in without))


def _dd(program: Program, args: tuple[str, ...], found: Found) -> None:
    found.changes = True
    for word in args:
        name, _, value = word.partition("=")
        if name == "of":
            found.touches.append(Touch(Verb.WRITE, value))
        elif name == "if":
            found.touches.append(Touch(Verb.READ, value))


def _chmod(program: Program, args: tuple[str, ...], found: Found) -> None:
    """The first operand is the mode; it may begin with a dash."""
    found.changes = True
    words = [word for word in args if not word.startswith("--")]
    deep = "--recursive" in args or any(
        word.startswith("-") and not word.startswith("--") and "R" in word for word in args
    )
    words = [word for word in words if not (word.startswith("-") and set(word[1:]) <= set("Rvcf"))]
    mode, paths = (words[0], words[1:]) if words else ("", [])
    if "s" in mode or (mode.isdigit() and len(mode.lstrip("0")) > 3 and mode.lstrip("0")[0] in "2467"):
        found.veto("chmod setuid", "sets the set-user-id or set-group-id bit")
    if deep:
        found.remark(Decision.ASK, "chmod -R", "changes the rights of a whole tree")
    found.touches += [Touch(Verb.WRITE, path, deep=deep) for path in paths]


def _chown(program: Program, args: tuple[str, ...], found: Found) -> None:
    found.changes = True
    words = [word for word in args if not word.startswith("-")]
    found.touches += [Touch(Verb.WRITE, path, deep=True) for path in words[1:]]


def _ln(program: Program, args: tuple[str, ...], found: Found) -> None:
    """A link makes its target reachable under another name: the target counts as written."""
    found.changes = True
    words = [word for word in args if not word.startswith("-")]
    target = [word for word in words if word]
    found.touches += [Touch(Verb.WRITE, path) for path in target]
    found.remark(Decision.ASK, "ln", "makes a link, which later paths may follow")


def _date(program: Program, args: tuple[str, ...], found: Found) -> None:
    for index, word in enumerate(args):
        if word.startswith("--s") or (word.startswith("-") and not word.startswith("--") and "s" in word[1:]):
            found.veto("date -s", "sets the clock")
        if word in ("-f", "--file", "-r", "--reference") and index + 1 < len(args):
            found.touches.append(Touch(Verb.READ, args[index + 1]))
        elif word.startswith(("--file=", "--reference=")):
            found.touches.append(Touch(Verb.READ, word.partition("=")[2]))


_READER = {"reads_only": True, "operands": Operands.READ}
_COPY_OPTIONS = (
    _letters("tST"),
    Option(("-t", "--target-directory", "<target>"), Value.NEEDED, Verb.WRITE),
    takes("-S", "--suffix"),
    joined("--backup", "--preserve", "--no-preserve", "--reflink", "--sparse", "--update"),
    flags("-T", "--force", "--recursive", "--verbose", "--no-clobber", "--archive", "--parents"),
    _HELP,
)

FILES = table(
    Program("cat", strict=True, options=(_letters(), _HELP, flags("--number", "--show-all")), **_READER),  # type: ignore[arg-type]
    Program("tac", **_READER),  # type: ignore[arg-type]
    Program("nl", options=(takes("-b", "-s", "-w", "-v", "-i"),), **_READER),  # type: ignore[arg-type]
    Program("head", options=(takes("-n", "-c", "--lines", "--bytes"), flags("-q", "-v", "-z")), **_READER),  # type: ignore[arg-type]
    Program("tail", options=(takes("-n", "-c", "--lines", "--bytes", "-s"), flags("-q", "-v", "-z", "-f", "-F", "-r")), **_READER),  # type: ignore[arg-type]
    Program("wc", options=(_letters(), reads("--files0-from"), _HELP), strict=True, **_READER),  # type: ignore[arg-type]
    Program("sort", strict=True, options=(
        takes("-k", "--key", "-t", "--field-separator", "-S", "--buffer-size", "--parallel", "--batch-size", "--sort"),
        _letters("ktSoT"), reads("--files0-from"), joined("--check"),
        flags("--reverse", "--unique", "--numeric-sort", "--version-sort", "--human-numeric-sort", "--ignore-case", "--stable", "--zero-terminated", "--general-numeric-sort", "--month-sort", "--random-sort", "--merge", "--debug", "--help", "--version"),
        writes("-o", "--output", "-T", "--temporary-directory"), runs("--compress-program")), **_READER),  # type: ignore[arg-type]
    Program("uniq", reads_only=True, operands=Operands.COPY, options=(takes("-f", "-s", "-w", "--skip-fields", "--skip-chars", "--check-chars"), _letters("fsw"))),
    Program("cut", options=(takes("-b", "-c", "-d", "-f", "--bytes", "--characters", "--delimiter", "--fields", "--output-delimiter"), _letters("bcdf"), flags("--complement", "--only-delimited")), **_READER),  # type: ignore[arg-type]
    Program("paste", options=(takes("-d", "--delimiters"),), **_READER),  # type: ignore[arg-type]
    Program("join", options=(takes("-1", "-2", "-t", "-o", "-e", "-a", "-v", "-j"),), **_READER),  # type: ignore[arg-type]
    Program("comm", **_READER),  # type: ignore[arg-type]
    Program("column", options=(takes("-s", "-t", "-o", "-N", "-c"),), **_READER),  # type: ignore[arg-type]
    Program("fold", options=(takes("-w", "--width"),), **_READER),  # type: ignore[arg-type]
    Program("fmt", options=(takes("-w", "--width"),), **_READER),  # type: ignore[arg-type]
    Program("expand", **_READER),  # type: ignore[arg-type]
    Program("rev", **_READER),  # type: ignore[arg-type]
    Program("cmp", **_READER),  # type: ignore[arg-type]
    Program("cksum", **_READER),  # type: ignore[arg-type]
    Program("md5sum", **_READER),  # type: ignore[arg-type]
    Program("sha1sum", **_READER),  # type: ignore[arg-type]
    Program("sha256sum", **_READER),  # type: ignore[arg-type]
    Program("sha512sum", **_READER),  # type: ignore[arg-type]
    Program("strings", options=(takes("-n", "-t", "-e"),), **_READER),  # type: ignore[arg-type]
    Program("od", options=(takes("-A", "-t", "-N", "-j", "-w"),), **_READER),  # type: ignore[arg-type]
    Program("hexdump", options=(takes("-n", "-s", "-e"),), **_READER),  # type: ignore[arg-type]
    Program("xxd", reads_only=True, operands=Operands.COPY, options=(takes("-l", "-s", "-c", "-g", "-o"), _letters("lscgo"))),
    Program("base64", reads_only=True, operands=Operands.READ, options=(takes("-w", "--wrap"), flags("-d", "--decode", "-D", "--ignore-garbage"), reads("-i", "--input"), writes("-o", "--output"))),
    Program("base32", options=(takes("-w", "--wrap"), writes("-o", "--output")), **_READER),  # type: ignore[arg-type]
    Program("diff", options=(
        takes("-U", "--unified", "-C", "--context", "-I", "-x", "--exclude", "-L", "--label", "-W", "--width"),
        reads("-X", "--exclude-from"), joined("--color"), _letters("UCIxLWXr"), Option(("-r", "--recursive")),
        writes("--output")), deep=True, **_READER),  # type: ignore[arg-type]
    Program("jq", reads_only=True, operands=Operands.READ, skip=1, skip_unless=("-f",), options=(
        takes("--arg", "--argjson", "--indent"), reads("-f", "--from-file", "--slurpfile", "--rawfile", "-L"), _letters("fL"))),
    Program("yq", operands=Operands.READ, skip=1, options=(asks("edits in place", "-i", "--inplace"),), reads_only=True),
    Program("ls", reads_only=True, operands=Operands.LIST, options=(takes("-I", "--ignore", "-w", "-T"), joined("--color", "--sort", "--time", "--time-style", "--format"), _letters("IwT"))),
    Program("tree", reads_only=True, operands=Operands.LIST, options=(takes("-L", "-I", "-P"), writes("-o"), _letters("LIPo"))),
    Program("stat", reads_only=True, operands=Operands.LIST, options=(takes("-c", "--format", "-f", "--printf"),)),
    Program("file", reads_only=True, operands=Operands.LIST, options=(reads("-f", "--files-from", "-m", "--magic-file"), asks("writes a compiled table", "-C", "--compile"))),
    Program("du", reads_only=True, operands=Operands.LIST, options=(takes("-d", "--max-depth", "--exclude", "-B", "-t"), reads("--files0-from"), _letters("dBt"))),
    Program("df", reads_only=True, operands=Operands.LIST),
    Program("basename", reads_only=True, operands=Operands.DATA),
    Program("dirname", reads_only=True, operands=Operands.DATA),
    Program("realpath", reads_only=True, operands=Operands.LIST),
    Program("readlink", reads_only=True, operands=Operands.LIST),
    Program("pwd", reads_only=True, operands=Operands.DATA),
    Program("echo", reads_only=True, operands=Operands.DATA, raw=True, reader=lambda program, args, found: None),
    Program("printf", reads_only=True, operands=Operands.DATA, raw=True, reader=lambda program, args, found: None),
    Program("true", reads_only=True, operands=Operands.DATA),
    Program("false", reads_only=True, operands=Operands.DATA),
    Program("seq", reads_only=True, operands=Operands.DATA),
    Program("yes", reads_only=True, operands=Operands.DATA),
    Program("expr", reads_only=True, operands=Operands.DATA),
    Program("sleep", reads_only=True, operands=Operands.DATA),
    Program("test", reads_only=True, operands=Operands.LIST, raw=True, reader=lambda program, args, found: None),
    Program("uname", reads_only=True, operands=Operands.DATA),
    Program("hostname", reads_only=True, operands=Operands.DATA, reader=lambda program, args, found: found.veto("hostname", "sets the host's name") if found.operands else None),
    Program("whoami", reads_only=True, operands=Operands.DATA),
    Program("id", reads_only=True, operands=Operands.DATA),
    Program("groups", reads_only=True, operands=Operands.DATA),
    Program("nproc", reads_only=True, operands=Operands.DATA),
    Program("arch", reads_only=True, operands=Operands.DATA),
    Program("uptime", reads_only=True, operands=Operands.DATA),
    Program("free", reads_only=True, operands=Operands.DATA),
    Program("cal", reads_only=True, operands=Operands.DATA),
    Program("locale", reads_only=True, operands=Operands.DATA),
    Program("tty", reads_only=True, operands=Operands.DATA),
    Program("which", reads_only=True, operands=Operands.DATA),
    Program("whereis", reads_only=True, operands=Operands.DATA),
    Program("ps", reads_only=True, operands=Operands.DATA, reader=lambda program, args, found: found.remark(Decision.ASK, "ps environment", "may print the environment of processes") if any("e" in word and not word.startswith("-") for word in args) else None),
    Program("printenv", Decision.ASK, "prints the environment into the record", reads_only=True, operands=Operands.DATA),
    Program("date", reads_only=True, raw=True, reader=_date),
    Program("tr", reads_only=True, operands=Operands.DATA),
    Program("mkdir", operands=Operands.WRITE, options=(takes("-m", "--mode"), flags("-p", "-v", "--parents"))),
    Program("touch", operands=Operands.WRITE, options=(takes("-d", "-t", "--date"), reads("-r", "--reference"), _letters("dtr"))),
    Program("tee", operands=Operands.WRITE),
    Program("truncate", Decision.ASK, "cuts files", operands=Operands.WRITE, options=(takes("-s", "--size"), reads("-r", "--reference"))),
    Program("split", operands=Operands.READ, options=(takes("-l", "-b", "-n", "-a", "-C", "--lines", "--bytes"), runs("--filter"))),
    Program("csplit", operands=Operands.READ),
    Program("cp", operands=Operands.COPY, options=_COPY_OPTIONS),
    Program("mv", operands=Operands.MOVE, options=_COPY_OPTIONS),
    Program("install", operands=Operands.COPY, options=(takes("-m", "--mode", "-o", "-g"), *_COPY_OPTIONS, runs("--strip-program"))),
    Program("ln", raw=True, reader=_ln),
    Program("link", raw=True, reader=_ln),
    Program("rm", Decision.ASK, "removes files", operands=Operands.DELETE, deep_options=("-r", "-R", "--recursive"), options=(Option(("-r", "-R", "--recursive")), _letters("rR"), asks("takes the safety off", "--no-preserve-root"), flags("--force", "--verbose", "--dir", "--one-file-system"))),
    Program("rmdir", Decision.ASK, "removes directories", operands=Operands.DELETE),
    Program("unlink", Decision.ASK, "removes a file", operands=Operands.DELETE),
    Program("shred", Decision.ASK, "destroys files", operands=Operands.DELETE, options=(takes("-n", "-s"),)),
    Program("chmod", raw=True, reader=_chmod),
    Program("chown", Decision.ASK, "changes owners", raw=True, reader=_chown),
    Program("chgrp", Decision.ASK, "changes groups", raw=True, reader=_chown),
    Program("dd", Decision.ASK, "copies raw blocks", raw=True, reader=_dd),
)
