"""Which Python modules are installed where the commands of a cage run. Looks at names only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from runtime.sandbox import CageSpec

_SYSTEM = ("/usr", "/usr/local")
_FOLDERS = (
    *("lib/python3*/site-packages", "lib64/python3*/site-packages"),
    *("lib/python3*/dist-packages", "lib/python3/dist-packages"),
)


def installed(spec: CageSpec) -> frozenset[str]:
    """The modules that the environments, the toolchains and the system have."""
    return frozenset(name for place in _places(spec) for name in _modules(place))


def _places(spec: CageSpec) -> Iterator[Path]:
    roots = [*(mount.source for mount in spec.mounts if not mount.writable), *_SYSTEM]
    for root in dict.fromkeys(roots):
        for pattern in _FOLDERS:
            yield from Path(root).glob(pattern)


def _modules(place: Path) -> Iterator[str]:
    try:
        entries = [*os.scandir(place)]
    except (FileNotFoundError, NotADirectoryError):
        return  # an environment that is being made anew, or a file of that name
    for entry in entries:
        name, _, ending = entry.name.partition(".")
        if entry.is_dir() if not ending else ending == "py" or ending.endswith("so"):
            yield name
