"""What is known about programs, by name."""

from __future__ import annotations

import re

from .archives import ARCHIVES
from .build import BUILD
from .files import FILES
from .git import GIT
from .interpreters import INTERPRETERS
from .model import Program
from .network import NETWORK
from .packages import PACKAGES
from .preset import DEFAULT_PROGRAMS
from .search import SEARCH
from .system import DOUBTFUL, SYSTEM, VETOED_PREFIXES
from .wrappers import WRAPPERS

PROGRAMS: dict[str, Program] = {
    **DOUBTFUL,
    **FILES,
    **SEARCH,
    **ARCHIVES,
    **BUILD,
    **PACKAGES,
    **INTERPRETERS,
    **NETWORK,
    **WRAPPERS,
    **GIT,
    **SYSTEM,
}
_VERSIONED = re.compile(
    r"(python|pypy|pip|node|perl|ruby|php|lua|gcc|g\+\+|clang|clang\+\+|java|go)-?\d[\d.]*"
)
_TRIPLE = re.compile(r"[a-z0-9_]+-linux-gnu-(.+)")


def plain_name(name: str) -> str:
    """`python3.12` as `python3`, `x86_64-linux-gnu-gcc-12` as `gcc`."""
    triple = _TRIPLE.fullmatch(name)
    if triple:
        name = triple.group(1)
    if name in PROGRAMS:
        return name
    versioned = _VERSIONED.fullmatch(name)
    return versioned.group(1) if versioned else name


def find(name: str) -> Program | None:
    """The table of a program, by the name that was given."""
    known = PROGRAMS.get(plain_name(name))
    if known is None and name.startswith(VETOED_PREFIXES):
        known = PROGRAMS[name.partition(".")[0]]
    return known


__all__ = ["DEFAULT_PROGRAMS", "PROGRAMS", "Program", "find", "plain_name"]
