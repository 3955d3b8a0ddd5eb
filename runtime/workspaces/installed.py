"""Which Python modules are installed where the commands of a cage run. Looks at names only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runtime.sandbox import CageSpec

_SYSTEM = ("/usr", "/usr/local")
_FOLDERS = (
    *("lib/python3*/site-packages", "lib64/python3*/site-packages"),
    *("lib/python3*/dist-packages", "lib/python3/dist-packages"),
)


def installed(spec: CageSpec, name: str) -> bool:
    """Whether an environment, a toolchain or the system has a module `name`, an identifier."""
    return any(
        (place / name).is_dir()
        or (place / f"{name}.py").is_file()
        or any(place.glob(f"{name}.*.so"))
        for place in _places(spec)
    )


def _places(spec: CageSpec) -> Iterator[Path]:
    roots = [*(mount.source for mount in spec.mounts if not mount.writable), *_SYSTEM]
    for root in dict.fromkeys(roots):
        for pattern in _FOLDERS:
            yield from Path(root).glob(pattern)
