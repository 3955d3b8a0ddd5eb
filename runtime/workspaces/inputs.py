"""Which files of a worktree the operator's verification runs, as far as its words say. Pure.

It names, it does not forbid: a person who is asked about a change sees that the proof of the
work depends on it. What a program reads without being told is known for the usual ones only.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

_PYTHON = ("pyproject.toml", "setup.cfg", "tox.ini")
_TESTS = ("tests", "test")
_NODE = (
    "package.json",
    *("*.test.*", "*.spec.*", "__tests__"),
    *("jest.config.*", "vitest.config.*", ".mocharc*", "playwright.config.*"),
)
_GRADLE = ("*.gradle", "*.gradle.kts", "gradle.properties", "buildSrc", "src/test")
_READS: dict[str, tuple[str, ...]] = {
    "pytest": (
        *(*_PYTHON, "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
        *("conftest.py", "test_*.py", "*_test.py", *_TESTS),
    ),
    "unittest": ("test*.py", *_TESTS),
    "tox": (*_PYTHON, "tox.toml"),
    "nox": ("noxfile.py",),
    "ruff": (*_PYTHON, "ruff.toml", ".ruff.toml"),
    "mypy": (*_PYTHON, "mypy.ini", ".mypy.ini"),
    "make": ("Makefile", "makefile", "GNUmakefile", "*.mk"),
    "just": ("justfile", "Justfile", ".justfile"),
    "npm": _NODE,
    "yarn": _NODE,
    "pnpm": _NODE,
    "cargo": ("Cargo.toml", "build.rs", "tests", ".cargo"),
    "go": ("go.mod", "go.work", "*_test.go"),
    "mvn": ("pom.xml", ".mvn", "src/test"),
    "gradle": _GRADLE,
    "gradlew": _GRADLE,
}
"""By program or Python module: the names of files that steer it, wherever they lie."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
# fmt: off
_LOOKS = frozenset((
    "[", "black", "cat", "cksum", "cmp", "compileall", "cp", "cut", "date", "diff", "du", "echo",
    "egrep", "eslint", "false", "fgrep", "file", "flake8", "git", "grep", "head", "isort", "jq",
    "ln", "ls", "md5sum", "mkdir", "mv", "mypy", "od", "prettier", "printf", "py_compile",
    "pycodestyle", "pyflakes", "pylint", "pyright", "rg", "rm", "ruff", "sha1sum", "sha256sum",
    "sleep", "sort", "stat", "tail", "test", "touch", "tr", "true", "tsc", "uniq", "wc", "xxd",
))
# fmt: on
"""Programs and modules that run none of the files they name."""
_PYTHONS = re.compile(r"(python|pypy)[\d.]*")
_ALONE = re.compile(r"-[A-Za-z]*[IP][A-Za-z]*")
"""Options by which Python imports nothing from where it works."""
_RUNNER = ("_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py", "exceptiongroup")
_MODULE = re.compile(r"([^/.]+)(?:/__init__)?(?:\.py|\.pyc|(?:\.[\w-]+)?\.so)")
_IMPORTED = tuple(sorted({n for n in sys.stdlib_module_names if n[0] != "_"}.union(_RUNNER)))
"""Modules that a test, or what runs it, imports: a file of that name where Python looks first
stands in for the real one."""


def verification_inputs(commands: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Patterns, as the gate's rules write them, of what these commands run or are steered by."""
    found: dict[str, None] = {}
    for argv in commands:
        for words in [argv, *_inner(argv)]:
            found.update(dict.fromkeys(_of(words)))
            found.update(dict.fromkeys(_stand_ins(words)))
    return tuple(found)


def _of(argv: Sequence[str]) -> Iterator[str]:
    """Patterns of one command. What a reader or a linter looks at is the work, not its proof."""
    before, looks = "", False
    for place, word in enumerate(argv):
        name = posixpath.basename(word)
        yield from (f"**/{known}" for known in _READS.get(name, ()))
        looks = looks or (name in _LOOKS and (place == 0 or before == "-m"))
        if before == "-m":
            yield from _module(word)
        elif not looks:
            yield from _path(word)
        before = word


def import_folders(commands: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Folders of the worktree in which these commands look for Python's modules before they look
    where modules are installed; "." is the root. Pytest puts the root before all others, too."""
    found: dict[str, None] = {}
    for argv in commands:
        for words in [argv, *_inner(argv)]:
            found.update(dict.fromkeys(_beside(words)))
            if any(posixpath.basename(word) == "pytest" for word in words):
                found["."] = None
    return tuple(found)


def module_of(path: str, folders: Iterable[str]) -> tuple[str, str]:
    """The folder, and the name, of the module that a file is to Python where it looks into these
    folders; two empty texts where it is none."""
    for folder in folders:
        below = path if folder == "." else path.removeprefix(f"{folder}/")
        found = _MODULE.fullmatch(below)
        if found and (folder == "." or below != path) and found[1].isidentifier():
            return folder, found[1]
    return "", ""


def is_known(name: str) -> bool:
    """Whether Python brings a module of that name along, or what runs the tests does."""
    return name in _IMPORTED


def _stand_ins(argv: Sequence[str]) -> Iterator[str]:
    """What Python would import in the place of its own modules."""
    for folder in _beside(argv):
        for name in _IMPORTED:
            path = posixpath.normpath(posixpath.join(folder, name))
            yield from (f"{path}.py", f"{path}/__init__.py")


def _beside(argv: Sequence[str]) -> tuple[str, ...]:
    """Where Python looks first: beside the script that it runs, or where it works if that is a
    module (`-m`)."""
    words = list(argv)
    while words and not _PYTHONS.fullmatch(posixpath.basename(words[0])):
        words.pop(0)
    options = []
    while len(words) > 1 and words[1].startswith("-"):
        options.append(words.pop(1))
        if options[-1] in ("-W", "-X") and len(words) > 1:
            words.pop(1)
        if options[-1].endswith(("m", "c")):
            break
    if len(words) < 2 or any(_ALONE.fullmatch(word) for word in options):
        return ()
    script = "" if options and options[-1].endswith(("m", "c")) else words[1]
    return tuple(_path(posixpath.dirname(script))) or (".",)


def _inner(argv: Sequence[str]) -> list[list[str]]:
    """The simple commands of a shell's script, as far as blanks and signs part them."""
    if not argv or posixpath.basename(argv[0]) not in _SHELLS:
        return []
    scripts = [word for before, word in pairwise(argv) if _script(before)]
    found: list[list[str]] = [[]]
    for script in scripts:
        lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|()\n")
        lexer.whitespace, lexer.whitespace_split = " \t", True
        try:
            for token in lexer:
                if set(token) <= set(";&|()\n"):
                    found.append([])
                else:
                    found[-1].append(token)
        except ValueError:
            found.append(script.split())  # its quotes do not match: the words will do
    return [words for words in found if words]


def _script(option: str) -> bool:
    """Whether an option of a shell says that its script follows: `-c`, also in a cluster."""
    return option.startswith("-") and not option.startswith("--") and option.endswith("c")


def _path(word: str) -> tuple[str, ...]:
    """A word as a path below the worktree; of `--name=value` the value, of `file::test` the file."""
    if word.startswith("-"):
        word = word.partition("=")[2]
    path = posixpath.normpath(word.partition("::")[0]) if word else "."
    return () if path in (".", "..") or path.startswith(("/", "../")) else (path,)


def _module(name: str) -> tuple[str, ...]:
    """The files of a Python module, if it is one of the worktree's own."""
    path = name.replace(".", "/")
    above = path.partition("/")[0]
    return (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py", f"{above}/__init__.py")
