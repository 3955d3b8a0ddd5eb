"""Which files of a worktree the operator's verification runs, as far as its words say. Pure.

It names, it does not forbid: a person who is asked about a change sees that the proof of the
work depends on it. What a program reads without being told is known for the usual ones only.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

_PYTHON = ("pyproject.toml", "setup.cfg", "tox.ini")
_READS: dict[str, tuple[str, ...]] = {
    "pytest": (*_PYTHON, "pytest.ini", "conftest.py", "test_*.py", "*_test.py"),
    "unittest": ("test*.py",),
    "tox": _PYTHON,
    "nox": ("noxfile.py",),
    "ruff": (*_PYTHON, "ruff.toml"),
    "mypy": (*_PYTHON, "mypy.ini"),
    "make": ("Makefile", "makefile", "GNUmakefile", "*.mk"),
    "just": ("justfile", "Justfile"),
    "npm": ("package.json",),
    "yarn": ("package.json",),
    "pnpm": ("package.json",),
    "cargo": ("Cargo.toml", "build.rs", "tests"),
    "go": ("go.mod", "*_test.go"),
    "mvn": ("pom.xml",),
    "gradle": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    "gradlew": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
}
"""By program or Python module: the names of files that steer it, wherever they lie."""


def verification_inputs(commands: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Patterns, as the gate's rules write them, of what these commands run or are steered by."""
    found: dict[str, None] = {}
    for argv in commands:
        before = ""
        for word in argv:
            known = _READS.get(posixpath.basename(word), ())
            found.update((f"**/{name}", None) for name in known)
            found.update(dict.fromkeys(_module(word) if before == "-m" else _path(word)))
            before = word
    return tuple(found)


def _path(word: str) -> tuple[str, ...]:
    """A word as a path below the worktree; of `--name=value` the value, of `file::test` the file."""
    if word.startswith("-"):
        word = word.partition("=")[2]
    path = posixpath.normpath(word.partition("::")[0]) if word else "."
    return () if path in (".", "..") or path.startswith(("/", "../")) else (path,)


def _module(name: str) -> tuple[str, ...]:
    """The files of a Python module, if it is one of the worktree's own."""
    path = name.replace(".", "/")
    return (f"{path}.py", f"{path}/__main__.py")
