"""What the inside of a cage looks like: an allow list of mounts, as arguments for bubblewrap.

Built once per cage. The order matters: bubblewrap works from left to right.
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass

from runtime.core.errors import BadInput, Unavailable
from runtime.sandbox.bubblewrap import Bubblewrap
from runtime.sandbox.spec import AGENT_HOME, AGENT_ID, CageSpec, Mount

PROFILES = ("tool", "git")
STAGE = "/tmp"  # the broker's: where it binds the sources when it is root
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
PRIVATE = ("/dev/shm", "/tmp", AGENT_HOME)  # in memory, for each command alone
_ARGUMENT_BYTES = 48 << 10  # they travel through one pipe, with the working directory
_KERNEL = ("/proc", "/sys", "/dev")
_WALLS = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
    "--unshare-cgroup", "--disable-userns", "--uid", str(AGENT_ID), "--gid", str(AGENT_ID),
    "--cap-drop", "ALL", "--new-session", "--die-with-parent", "--hostname", "cage",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cover:
    """Something laid over a path inside a mount that is really there: read-only, or hidden; a
    `folder` is hidden by an empty one. `writable`: it is itself, so that it cannot be moved.

    The caller has made sure that no part of `target` is a link and that `target` exists; else
    bubblewrap would create it on the host.
    """

    target: str
    hide: bool
    folder: bool = False
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """For the broker. `sources` (path, name under the stage, writable) are bound by a root broker."""

    bwrap: bytes
    sources: tuple[tuple[bytes, bytes, bool], ...]
    arguments: dict[str, bytes]  # by profile, separated by NUL


def plan(spec: CageSpec, bwrap: Bubblewrap, covers: tuple[Cover, ...] = ()) -> Plan:
    """The cage of `spec`. Raises BadInput for a spec that cannot be built safely, Unavailable for
    a source that is not there."""
    mounts = check_sources(spec)
    staged = spec.uid is not None
    places = [f"{STAGE}/m/{n}" if staged else mount.source for n, mount in enumerate(mounts)]
    program, sources = _program(bwrap) if staged else (bwrap.path, [])
    if staged:
        sources += [(mount.source, f"m/{n}", mount.writable) for n, mount in enumerate(mounts)]
    laid = [(mount, place) for mount, place in zip(mounts, places, strict=True)]
    return Plan(
        bwrap=os.fsencode(program),
        sources=tuple((os.fsencode(a), os.fsencode(b), rw) for a, b, rw in sources),
        arguments={name: _arguments(spec, name, laid, covers) for name in PROFILES},
    )


def _arguments(
    spec: CageSpec, profile: str, laid: list[tuple[Mount, str]], covers: tuple[Cover, ...]
) -> bytes:
    size = str(spec.limits.tmpfs_bytes)
    words = [*_WALLS]
    for path in SYSTEM:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    words += ["--proc", "/proc"]
    # Settings of the cage's own namespaces would be writable: they bound memory, too.
    words += ["--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    shared, *others = PRIVATE
    words += ["--perms", "1777", "--size", size, "--tmpfs", shared, "--remount-ro", "/dev"]
    for place, mode in zip(others, ("1777", "0755"), strict=True):
        words += ["--perms", mode, "--size", size, "--tmpfs", place]
    for mount, place in laid:
        if mount.only in (None, profile):
            words += ["--bind" if mount.writable else "--ro-bind", place, mount.target]
    for cover in covers:
        words += _over(cover, laid)
    words += ["--remount-ro", "/"]
    arguments = b"".join(os.fsencode(word) + b"\0" for word in words)
    if len(arguments) > _ARGUMENT_BYTES:
        raise BadInput(
            f"The cage has too many mounts: {len(laid)}, and {len(covers)} covered paths.",
            remedy="Remove sockets and environments that are not needed, and deny folders rather than"
            " their files.",
            field="mounts",
        )
    return arguments


def _over(cover: Cover, laid: list[tuple[Mount, str]]) -> list[str]:
    if cover.hide and cover.folder:
        empty = ["--perms", "0555", "--size", "4096", "--tmpfs", cover.target]
        return [*empty, "--remount-ro", cover.target]
    how = "--bind" if cover.writable else "--ro-bind"
    return [how, _cover_source(cover, laid), cover.target]


def _cover_source(cover: Cover, laid: list[tuple[Mount, str]]) -> str:
    """Where the covered thing itself is reached from outside the cage; nothing is /dev/null."""
    if cover.hide:
        return "/dev/null"
    for mount, place in reversed(laid):
        if posixpath.commonpath([mount.target, cover.target]) == mount.target:
            return posixpath.join(place, posixpath.relpath(cover.target, mount.target))
    raise BadInput(f"{cover.target} is in no mount.", field="covers")


def _program(bwrap: Bubblewrap) -> tuple[str, list[tuple[str, str, bool]]]:
    """bubblewrap as the run's account reaches it: the system's where it is, others staged."""
    if bwrap.kind == "system":
        return bwrap.path, []
    folder, name = os.path.split(os.path.realpath(bwrap.path))
    package = os.path.dirname(folder)
    libraries = f"{package}.libs"  # beside the package, found from the program by a relative path
    if not os.path.isdir(libraries):
        return f"{STAGE}/b/{name}", [(os.path.join(folder, name), f"b/{name}", False)]
    inside = f"b/{os.path.basename(package)}"
    sources = [(package, inside, False), (libraries, f"{inside}.libs", False)]
    return f"{STAGE}/{inside}/{os.path.basename(folder)}/{name}", sources


def check_sources(spec: CageSpec) -> list[Mount]:
    """The mounts in the order in which they are made. Raises as `plan` does."""
    mounts = sorted(spec.mounts, key=lambda mount: len(_parts(mount.target)))
    _clean("root", spec.root)
    writable = [mount.target for mount in mounts if mount.writable]
    for mount in mounts:
        _clean("source", mount.source)
        _clean("target", mount.target)
        if mount.only not in (None, *PROFILES):
            raise BadInput(f"There is no profile {mount.only!r}.", field="only")
        if not os.path.exists(mount.source):
            raise Unavailable(
                f"{mount.source}, which belongs at {mount.target} in the cage, does not exist.",
                remedy="Restore it or remove it from the workspace.",
            )
        for outer in writable:  # a command could put a link where the mount point is made
            if mount.target != outer and _within(mount.target, outer):
                raise BadInput(
                    f"{mount.target} would be mounted below {outer}, which commands can write.",
                    remedy="Mount it outside and link to it.",
                    field="mounts",
                )
    if spec.root not in (mount.target for mount in mounts):
        raise BadInput(f"Nothing is mounted at the root {spec.root}.", field="root")
    return mounts


def _clean(what: str, path: str) -> None:
    """Absolute, normal, no NUL, and not a place that the cage itself needs."""
    if not path.startswith("/") or posixpath.normpath(path) != path or "\0" in path:
        raise BadInput(
            f"The {what} {path!r} is not an absolute path in its shortest form.", field=what
        )
    if what == "source":
        return
    taken = ("/", "/home", "/tmp", AGENT_HOME, *SYSTEM, *(("/etc",) if what == "root" else ()))
    if path in taken or any(_within(path, kernel) for kernel in _KERNEL):
        raise BadInput(
            f"{path} is a directory of the system; a workspace cannot be there.",
            remedy="Use a directory of its own.",
            field=what,
        )


def _within(path: str, outer: str) -> bool:
    return path == outer or path.startswith(outer + "/")


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
