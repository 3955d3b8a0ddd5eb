"""Programs that look at, copy, move and remove files."""

from __future__ import annotations

import re
from itertools import pairwise

from ..decision import Decision
from ..reading import Touch, Verb
from .model import (
    Found,
    Operands,
    Option,
    Program,
    Value,
    asking,
    asks,
    flags,
    follows,
    joined,
    letters,
    looker,
    ordinary,
    reads,
    runs,
    table,
    takes,
    writes,
)

_ALL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01"


def _letters_but(without: str) -> Option:
    """For programs none of whose other letters do anything remarkable."""
    return letters("".join(letter for letter in _ALL if letter not in without))


def _yq(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Expressions can read other files and the environment."""
    if any(re.search(r"\b(str)?(load|env)|envsubst|\beval\b", word) for word in args):
        found.remark(Decision.ASK, "yq expression", "reads other files or the environment")


def _variable(program: Program, args: tuple[str, ...], found: Found) -> None:
    """As builtins of some shells they set a variable, or compute the subscript of one."""
    if any(word.startswith("-v") for word in args[:1]) or (
        program.name == "test" and not {"-v", "-R"}.isdisjoint(args)
    ):
        found.remark(Decision.ASK, f"{program.name} -v", "sets or computes a variable")


def _nothing(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Arguments that are data, whatever they look like."""


def _dd(program: Program, args: tuple[str, ...], found: Found) -> None:
    found.changes = True
    for word in args:
        name, _, value = word.partition("=")
        if name == "of":
            found.touches.append(Touch(Verb.WRITE, value))
        elif name == "if":
            found.touches.append(Touch(Verb.READ, value))


def _special_bits(program: Program, mode: str, found: Found) -> None:
    digits = mode.lstrip("0")
    if "s" in mode or (digits.isdigit() and len(digits) > 3 and digits[0] in "234567"):
        found.veto(f"{program.name} setuid", "sets the set-user-id or set-group-id bit")


def _moded(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`install -m MODE`, `mkdir --mode=MODE`."""
    for word, after in pairwise((*args, "")):
        given = re.fullmatch(r"(?:-[A-Za-ln-z]*m|--mo\w*)=?(.*)", word)
        if given:
            _special_bits(program, given[1] or after, found)


def _chmod(program: Program, args: tuple[str, ...], found: Found) -> None:
    """The first operand is the mode; it may begin with a dash."""
    found.changes = True
    short = [word for word in args if word.startswith("-") and set(word[1:]) <= set("Rvcf")]
    deep = "--recursive" in args or any("R" in word for word in short)
    words = [word for word in args if word not in short and not word.startswith("--")]
    mode, paths = (words[0], words[1:]) if words else ("", [])
    _special_bits(program, mode, found)
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
    words = [word for word in args if word and not word.startswith("-")]
    found.touches += [Touch(Verb.WRITE, path) for path in words]
    if not any(re.match(r"-[a-zA-Z]*s|--sy", word) for word in args):
        # Nobody can see later that a hard link is one: its file may be read from now on.
        found.touches += [Touch(Verb.READ, path) for path in words[:-1] or words]
    found.remark(Decision.ASK, "ln", "makes a link, which later paths may follow")


def _date(program: Program, args: tuple[str, ...], found: Found) -> None:
    for index, word in enumerate(args):
        short = word.startswith("-") and not word.startswith("--")
        if word.startswith("--s") or (short and "s" in word[1:] and not word.startswith("-Is")):
            found.veto("date -s", "sets the clock")
        if word in ("-f", "--file", "-r", "--reference") and index + 1 < len(args):
            found.touches.append(Touch(Verb.READ, args[index + 1]))
        elif word.startswith(("--file=", "--reference=")):
            found.touches.append(Touch(Verb.READ, word.partition("=")[2]))


def _hostname(program: Program, args: tuple[str, ...], found: Found) -> None:
    if found.operands or any(word in ("-F", "-b") for word in args):
        found.veto("hostname", "sets the host's name")


def _jq(program: Program, args: tuple[str, ...], found: Found) -> None:
    if any(
        re.search(r"\$ENV|\benv\b|\binput_filename\b|\bimport\b|\binclude\b", word)
        for word in found.operands[:1]
    ):
        found.remark(Decision.ASK, "jq environment", "may print the environment into the record")


def _ps(program: Program, args: tuple[str, ...], found: Found) -> None:
    if any("e" in word and not word.startswith("-") for word in args) or "-E" in args:
        found.remark(Decision.ASK, "ps environment", "may print the environment of processes")


_COPY_OPTIONS = (
    Option(("-t", "--target-directory", "<target>"), Value.NEEDED, Verb.WRITE),
    takes("-S --suffix"),
    joined("--backup --preserve --no-preserve --reflink --sparse --update"),
    _letters_but("tSL"),
    follows("-L --dereference"),
    flags("--force --recursive --verbose --no-clobber --archive --parents"),
)
_RM_OPTIONS = (
    flags("-r -R --recursive"),
    _letters_but("rR"),
    flags("--force --verbose --dir --one-file-system"),
    asks("takes the safety off", "--no-preserve-root"),
)
_SORT_OPTIONS = (
    takes("-k --key -t --field-separator -S --buffer-size --parallel --batch-size --sort"),
    _letters_but("ktSoT"),
    reads("--files0-from"),
    joined("--check"),
    flags("--reverse --unique --numeric-sort --version-sort --human-numeric-sort --ignore-case"),
    flags("--stable --zero-terminated --general-numeric-sort --month-sort --merge --version"),
    writes("-o --output -T --temporary-directory"),
    runs("--compress-program"),
)


def _diff(program: Program, args: tuple[str, ...], found: Found) -> None:
    """The files of two directories are compared where their links lead."""
    found.follows = not any(word.startswith("--no-d") for word in args)


_DIFF_OPTIONS = (
    takes("-U --unified -C --context -I -x --exclude -L --label -W --width"),
    reads("-X --exclude-from"),
    joined("--color"),
    _letters_but("UCIxLWX"),
    writes("--output"),
)

FILES = table(
    *looker("cat", _letters_but(""), flags("--number --show-all --help --version"), strict=True),
    *looker("head tail", takes("-n -c --lines --bytes -s"), letters("qvzfFr")),
    *looker("wc", _letters_but(""), reads("--files0-from"), flags("--lines --words --bytes")),
    *looker("sort", *_SORT_OPTIONS, strict=True),
    *looker(
        "uniq",
        takes("-f -s -w --skip-fields --skip-chars --check-chars"),
        operands=Operands.FILTER,
    ),
    *looker(
        "cut",
        takes("-b -c -d -f --bytes --characters --delimiter --fields --output-delimiter"),
        letters("nsz"),
    ),
    *looker("paste", takes("-d --delimiters"), letters("sz")),
    *looker("join", takes("-1 -2 -t -o -e -a -v -j")),
    *looker("nl column fold fmt", takes("-b -s -w -v -i -t -o -N -c --width")),
    *looker("tac comm expand unexpand rev cmp cksum md5sum sha1sum sha256sum sha512sum b2sum"),
    *looker("strings od hexdump", takes("-n -t -e -A -N -j -w -s")),
    *looker("xxd", takes("-l -s -c -g -o"), operands=Operands.FILTER),
    *looker(
        "base64 base32",
        takes("-w --wrap"),
        flags("-d --decode -D --ignore-garbage"),
        reads("-i --input"),
        writes("-o --output"),
    ),
    *looker("diff", *_DIFF_OPTIONS, deep=True, reader=_diff),
    Program(
        "jq",
        reads_only=True,
        operands=Operands.READ,
        skip=1,
        skip_unless=("-f",),
        options=(
            takes("--arg --argjson --indent"),
            reads("-f --from-file --slurpfile --rawfile -L"),
            _letters_but("fL"),
        ),
        reader=_jq,
    ),
    Program(
        "yq",
        reads_only=True,
        operands=Operands.READ,
        skip=1,
        options=(
            asks("edits in place", "-i --inplace"),
            asks("writes files that the expression names", "-s --split-exp", Value.NEEDED),
        ),
        reader=_yq,
    ),
    *looker(
        "ls",
        takes("-I --ignore -w -T"),
        joined("--color --sort --time --time-style --format"),
        _letters_but("IwTL"),
        follows("-L --dereference"),
        operands=Operands.LIST,
    ),
    *looker("tree", takes("-L -I -P"), follows("-l"), writes("-o"), operands=Operands.LIST),
    *looker("stat", takes("-c --format --printf"), operands=Operands.LIST),
    *looker(
        "file",
        reads("-f --files-from -m --magic-file"),
        asks("writes a compiled table", "-C --compile"),
        operands=Operands.LIST,
    ),
    *looker(
        "du",
        takes("-d --max-depth --exclude -B -t"),
        follows("-L --dereference"),
        operands=Operands.LIST,
    ),
    *looker("df realpath readlink", operands=Operands.LIST),
    *looker("basename dirname pwd true false seq expr sleep uname whoami", operands=Operands.DATA),
    *looker("id groups nproc arch uptime free cal locale tty which", operands=Operands.DATA),
    *looker("whereis type tr", operands=Operands.DATA),
    *looker("hostname", operands=Operands.DATA, reader=_hostname),
    *looker("ps", operands=Operands.DATA, reader=_ps),
    *(Program(name, reads_only=True, raw=True, reader=_nothing) for name in ("echo", "yes")),
    *(Program(name, reads_only=True, raw=True, reader=_variable) for name in ("printf", "test")),
    Program("date", reads_only=True, raw=True, reader=_date),
    Program("printenv", Decision.ASK, "prints the environment into the record", reads_only=True),
    *ordinary(
        "mkdir",
        takes("-m --mode"),
        flags("-p -v --parents"),
        operands=Operands.WRITE,
        reader=_moded,
    ),
    *ordinary("mktemp", takes("--suffix"), writes("-p --tmpdir"), operands=Operands.WRITE),
    *ordinary("touch", takes("-d -t --date"), reads("-r --reference"), operands=Operands.WRITE),
    *ordinary("tee", flags("-a -i -p --append"), operands=Operands.WRITE),
    *ordinary("cp", *_COPY_OPTIONS, operands=Operands.COPY),
    *ordinary("mv", *_COPY_OPTIONS, operands=Operands.MOVE),
    *ordinary(
        "install",
        takes("-m --mode -o -g"),
        *_COPY_OPTIONS,
        runs("--strip-program"),
        operands=Operands.COPY,
        reader=_moded,
    ),
    *ordinary(
        "split",
        takes("-l -b -n -a -C --lines --bytes"),
        runs("--filter"),
        operands=Operands.FILTER,
    ),
    *ordinary("csplit", writes("-f --prefix"), takes("-n -b"), operands=Operands.READ),
    *asking("truncate", "cuts files", takes("-s --size"), operands=Operands.WRITE),
    Program(
        "rm",
        Decision.ASK,
        "removes files",
        operands=Operands.DELETE,
        options=_RM_OPTIONS,
        deep_options=("-r",),
    ),
    *asking("rmdir unlink", "removes files", operands=Operands.DELETE),
    *asking("shred", "destroys files", takes("-n -s"), operands=Operands.DELETE),
    *(Program(name, raw=True, reader=_ln) for name in ("ln", "link")),
    Program("chmod", raw=True, reader=_chmod),
    *(
        Program(name, Decision.ASK, "changes owners", raw=True, reader=_chown)
        for name in ("chown", "chgrp")
    ),
    Program("dd", Decision.ASK, "copies raw blocks", raw=True, reader=_dd),
    Program("patch", Decision.ASK, "changes files as a patch says", operands=Operands.WRITE),
)
