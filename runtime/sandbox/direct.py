"""A cage without mounts: commands see the machine's own paths, and Landlock says which they may use.

Nothing is put at another place: what the spec mounts is found where it really is. `/etc`, `/tmp`
and HOME are replaced by a few files of the machine and by a private directory.
"""

from __future__ import annotations

import os
import tempfile

from runtime.core.errors import Unavailable
from runtime.sandbox import etc, landlock, layout
from runtime.sandbox.prepared import Facts, Places, Prepared
from runtime.sandbox.spec import CageSpec, Mount

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
Row = tuple[bytes, int]


def prepare(spec: CageSpec, filter_text: bytes, facts: Facts, *, walls: bool) -> Prepared:
    """The set-up for `spec`; its private directory is made, and the broker removes it at the end.

    `walls`: with Landlock. Raises Unavailable for a source that is not there.
    """
    layout.check_sources(spec)
    private = make_private(spec)
    places = places_of(spec)
    root = dict(places)[spec.root]
    sources = [(mount.source, mount.writable) for mount in spec.mounts] + [(private, True)]
    prepared = Prepared(
        sources=tuple((os.fsencode(path), b"", writable) for path, writable in sources),
        facts=facts,
        filter=filter_text,
        direct={
            "landlock": walls,
            "root": os.fsencode(os.path.realpath(root)),
            "private": os.fsencode(private),
            "rules": {name: rules(spec, name, private) for name in layout.PROFILES},
        },
        places=places,
        env=variables(spec, private),
        private=private,
    )
    return prepared


def rules(spec: CageSpec, profile: str, private: str) -> list[Row]:
    """Paths and rights, for Landlock. What is named twice has both rights."""
    rows: list[tuple[str, int]] = [(path, landlock.READ) for path in layout.SYSTEM]
    rows += [(os.path.join("/etc", name), landlock.LOOK) for name in (*etc.FILES, *etc.FOLDERS)]
    rows += [(path, landlock.USE) for path in _DEVICES]
    rows += [("/proc", landlock.LOOK), (private, landlock.CHANGE)]
    for mount in spec.mounts:
        if mount.only in (None, profile):
            rows.append((mount.source, landlock.CHANGE if mount.writable else landlock.READ))
    return [(os.fsencode(path), rights) for path, rights in rows]


def asks_too_much(spec: CageSpec, covers: tuple[layout.Cover, ...]) -> list[str]:
    """What of a spec cannot be given without mounts, in words."""
    found = []
    moved = [mount.target for mount in spec.mounts if mount.target != "/etc" and not _stays(mount)]
    if moved:
        found.append(f"files at a place of their own ({', '.join(sorted(moved)[:3])})")
    fixed = [cover.target for cover in covers if not cover.hide]
    if fixed:
        found.append(f"{', '.join(fixed)} read-only inside a writable directory")
    return found


def _stays(mount: Mount) -> bool:
    return os.path.realpath(mount.target) == os.path.realpath(mount.source)


def places_of(spec: CageSpec) -> Places:
    """Where the spec's places really are, the innermost first, since the first that fits counts."""
    rows = [(m.target, m.target if _stays(m) else m.source) for m in spec.mounts]
    return tuple(sorted(rows, key=lambda row: -len(row[0])))


def variables(spec: CageSpec, private: str) -> dict[str, str]:
    """What differs from the usual environment. Git's settings of the machine cannot be read, which
    it takes amiss: it is told the server's own."""
    found = {"HOME": f"{private}/home", "TMPDIR": f"{private}/tmp", "GIT_CONFIG_NOSYSTEM": "1"}
    for mount in spec.mounts:
        path = os.path.join(mount.source, "gitconfig")
        if mount.target == "/etc" and os.path.isfile(path):
            found["GIT_CONFIG_SYSTEM"] = path
            del found["GIT_CONFIG_NOSYSTEM"]
    return found


def make_private(spec: CageSpec) -> str:
    """A directory of the run's account with a home and a place for temporary files."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="m31a-cage-"))
    try:
        for name in ("", "home", "tmp"):
            path = os.path.join(folder, name)
            os.makedirs(path, mode=0o700, exist_ok=True)
            if spec.uid is not None:
                os.chown(path, spec.uid, spec.gid or spec.uid)
    except OSError as error:
        raise Unavailable(f"The cage's private directory cannot be made: {error}.") from error
    return folder
