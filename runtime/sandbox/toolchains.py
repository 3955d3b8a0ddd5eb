"""Language tools outside the system's directories: the real directory behind each, to be mounted.

A version manager puts a small program on PATH (a shim) that finds the real one below a home. In a
cage there is no home, so the tool itself is asked, once, on the host, where it lives. Only that
directory is mounted, read-only, at its own path; never a home or a directory of settings, which
may hold credentials.
"""

from __future__ import annotations

import os
import pwd
import sys
from dataclasses import dataclass
from functools import lru_cache

from runtime.core.commands import Exec
from runtime.core.errors import Unavailable
from runtime.policy.authorised import by_runtime
from runtime.sandbox.host import run_host

_VISIBLE = ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
_ASK_SECONDS = 15.0
_PRIVATE = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".config",
    ".netrc",
    ".bashrc",
    ".profile",
    ".git-credentials",
)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """`source` belongs at `target` in the cage, read-only; `bin` there belongs on PATH."""

    name: str
    source: str
    target: str
    bin: str


@dataclass(frozen=True, slots=True)
class _Question:
    """How a tool is asked for the directory it is installed in."""

    name: str
    program: str
    args: tuple[str, ...]
    levels: int = 0  # directories to go up from the answer


_QUESTIONS = (
    _Question("python", "python3", ("-I", "-c", "import sys; print(sys.base_prefix)")),
    _Question("node", "node", ("-p", "process.execPath"), 2),
    _Question("rust", "rustc", ("--print", "sysroot")),
    _Question("go", "go", ("env", "GOROOT")),
    _Question("ruby", "ruby", ("-e", "puts RbConfig::CONFIG['prefix']")),
)
# What version managers need to find their own files; nothing else of the server's environment.
_PASSED_ON = (
    "HOME", "PYENV_ROOT", "PYENV_VERSION", "NVM_DIR", "RUSTUP_HOME", "CARGO_HOME", "GOROOT",
    "RBENV_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "VOLTA_HOME", "XDG_DATA_HOME",
)  # fmt: skip


def find_toolchains() -> tuple[Toolchain, ...]:
    """The tools that PATH finds outside the system's directories; asked once per process and PATH.

    A tool that does not answer, or lives where mounting would expose more than itself, is left out.
    """
    return _find(os.environ.get("PATH", ""))


@lru_cache(maxsize=4)
def _find(path: str) -> tuple[Toolchain, ...]:
    folders = [folder for folder in path.split(os.pathsep) if os.path.isabs(folder)]
    found = [_ask(question, folders) for question in _QUESTIONS]
    if not any(_first("python3", [*folders, *_VISIBLE])):
        found.append(_at("python", sys.base_prefix))  # no python3 at all but the server's own
    return tuple(tool for tool in found if tool is not None)


def _first(program: str, folders: list[str]) -> str:
    """Where PATH finds a program; empty if nowhere."""
    for folder in folders:
        path = os.path.join(folder, program)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def _ask(question: _Question, folders: list[str]) -> Toolchain | None:
    program = _first(question.program, folders)
    if not program or os.path.dirname(program) in _VISIBLE:
        return None
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment["PATH"] = os.pathsep.join(folders)
    try:
        answer = run_host(
            by_runtime(Exec(program, question.args), "find toolchains"),
            env=environment, timeout=_ASK_SECONDS,
        )  # fmt: skip
    except Unavailable:
        return None  # it does not work on the host either
    if answer.status != 0:
        return None
    prefix = os.fsdecode(answer.stdout).strip()
    for _ in range(question.levels):
        prefix = os.path.dirname(prefix)
    return _at(question.name, prefix)


def _at(name: str, prefix: str) -> Toolchain | None:
    folder = os.path.join(prefix, "bin")
    if not os.path.isabs(prefix) or not os.path.isdir(folder) or folder in _VISIBLE:
        return None
    source = os.path.realpath(prefix)
    if not _only_a_tool(source):
        return None
    target = os.path.normpath(prefix)
    return Toolchain(name, source, target, os.path.join(target, "bin"))


def _only_a_tool(folder: str) -> bool:
    """Whether mounting it shows nothing but a tool: no home, nothing above one, no settings."""
    if folder.count("/") < 2 or os.path.basename(folder) == ".local":
        return False
    if any(folder == system or folder.startswith(system + "/") for system in _SYSTEM):
        return True  # visible anyway; only PATH is missing
    homes = {os.path.realpath(entry.pw_dir) for entry in pwd.getpwall()}
    homes.add(os.path.realpath(os.path.expanduser("~")))
    if any(home == folder or home.startswith(folder + "/") for home in homes - {"/"}):
        return False
    return not any(os.path.lexists(os.path.join(folder, name)) for name in _PRIVATE)
