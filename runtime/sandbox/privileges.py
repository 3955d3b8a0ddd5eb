"""The broker's way down: namespaces, sources under a private stage, then an ordinary account for good.

Part of the broker's process: standard library only, imported before the drop.
"""

from __future__ import annotations

import ctypes
import os
import struct

STAGE = b"/tmp"
NEW_MOUNTS, NEW_USERS = 0x20000, 0x10000000
READ_ONLY, NO_SUID, NO_DEVICES, REMOUNT, BIND = 1, 2, 4, 32, 4096
RECURSIVE, PRIVATE = 16384, 1 << 18
NO_NEW_PRIVILEGES, CHILD_SUBREAPER, DROP_BOUND = 38, 36, 24
_SET_FILTER, _FILTER_MODE = 22, 2
_READ_BOUND, _READ_NO_NEW_PRIVILEGES = 23, 39
libc = ctypes.CDLL(None, use_errno=True)


class Filter(ctypes.Structure):
    """`struct sock_fprog`. Whoever makes one keeps `text` alive."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    def __init__(self, text: bytes) -> None:
        self.text = ctypes.create_string_buffer(text, len(text))
        super().__init__(len(text) // 8, ctypes.addressof(self.text))


def must(what: str, result: int) -> None:
    """Raise the C library's error."""
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def option(what: str, number: int, value: int) -> None:
    """prctl(2) with one argument."""
    must(what, libc.prctl(number, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3))


def install(rules: Filter) -> None:
    """The filter, for this process and all that come of it."""
    must("filter", libc.prctl(_SET_FILTER, ctypes.c_ulong(_FILTER_MODE), ctypes.byref(rules)))


def mount(
    source: bytes | None, target: bytes, kind: bytes | None, flags: int, data: bytes | None = None
) -> None:
    """mount(2)."""
    must(f"mount {target!r}", libc.mount(source, target, kind, ctypes.c_ulong(flags), data))


def enter_namespaces() -> None:
    """A user and a mount namespace of its own; no id is mapped in it yet."""
    must("unshare", libc.unshare(NEW_USERS | NEW_MOUNTS))


def stage(sources: list[tuple[bytes, bytes, bool]]) -> None:
    """Bind every source below STAGE, so that no directory above it has to be passable."""
    mount(None, b"/", None, RECURSIVE | PRIVATE)
    # Opened in this namespace (else they cannot be bound) and before STAGE hides what is under it.
    opened = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path, _, _ in sources]
    mount(b"stage", STAGE, b"tmpfs", NO_SUID | NO_DEVICES, b"mode=0755,size=256k")
    for (_, name, writable), fd in zip(sources, opened, strict=True):
        bind(fd, STAGE + b"/" + name, writable)


def drop(uid: int | None, gid: int) -> None:
    """Become the run's account for good; any doubt is an error."""
    if uid is not None:
        _empty_bounds()
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    must("capset", libc.capset(struct.pack("=Ii", 0x20080522, 0), bytes(24)))
    option("no_new_privs", NO_NEW_PRIVILEGES, 1)
    option("subreaper", CHILD_SUBREAPER, 1)
    with open("/proc/self/status", "rb") as file:  # as bytes: no codec can be loaded any more
        status = file.read()
    if 0 in (*os.getresuid(), *os.getresgid()) or b"NoNewPrivs:\t1" not in status:
        raise PermissionError("still root, or new privileges are possible")
    if b"CapPrm:\t0000000000000000" not in status or b"CapEff:\t0000000000000000" not in status:
        raise PermissionError("capabilities are left")


def surrender() -> None:
    """Give up every capability that came with a user namespace, for good."""
    _empty_bounds()
    must("capset", libc.capset(struct.pack("=Ii", 0x20080522, 0), bytes(24)))
    for capability in range(64):
        if libc.prctl(_READ_BOUND, ctypes.c_ulong(capability), *[ctypes.c_ulong(0)] * 3) > 0:
            raise PermissionError("capabilities are left")
    if libc.prctl(_READ_NO_NEW_PRIVILEGES, *[ctypes.c_ulong(0)] * 4) != 1:
        raise PermissionError("new privileges are possible")


def _empty_bounds() -> None:
    """With an empty bounding set no program gives a capability back."""
    for capability in range(64):
        if libc.prctl(DROP_BOUND, ctypes.c_ulong(capability), *[ctypes.c_ulong(0)] * 3):
            break


def out_of_reach(sources: list[tuple[bytes, bytes, bool]], uid: int, gid: int) -> set[bytes]:
    """The first directory above each source that the account cannot pass. Lists of rights beyond
    the mode are not looked at."""
    found = set()
    for path, _, _ in sources:
        parts = path.split(b"/")
        for length in range(2, len(parts)):
            folder = b"/".join(parts[:length])
            about = os.stat(folder)
            bit = 0o100 if about.st_uid == uid else 0o010 if about.st_gid == gid else 0o001
            if not about.st_mode & bit:
                found.add(folder)
                break
    return found


def open_ways(sources: list[tuple[bytes, bytes, bool]], uid: int, gid: int) -> None:
    """Lay an empty, passable directory over each of those, with nothing in it but the sources at
    their own paths."""
    mount(None, b"/", None, RECURSIVE | PRIVATE)
    veils = out_of_reach(sources, uid, gid)
    below = [row for row in sorted(sources) if any(row[0].startswith(v + b"/") for v in veils)]
    opened = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path, _, _ in below]
    for veil in veils:
        mount(b"way", veil, b"tmpfs", NO_SUID | NO_DEVICES, b"mode=0755,size=256k")
    for (path, _, writable), fd in zip(below, opened, strict=True):
        bind(fd, path, writable)


def bind(fd: int, at: bytes, writable: bool) -> None:
    """An opened directory or file at a place that is made for it. The descriptor is closed."""
    is_folder = os.path.isdir(f"/proc/self/fd/{fd}")
    os.makedirs(at if is_folder else os.path.dirname(at), mode=0o755, exist_ok=True)
    if not is_folder:
        os.close(os.open(at, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    mount(f"/proc/self/fd/{fd}".encode(), at, None, BIND | RECURSIVE)
    if not writable:
        kept = os.statvfs(at).f_flag & 15  # nosuid, nodev, noexec are locked: said again
        mount(None, at, None, REMOUNT | BIND | READ_ONLY | kept)
    os.close(fd)
