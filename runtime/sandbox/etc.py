"""The `/etc` of a cage: small, made by the server, the same for every command."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress

from runtime.sandbox.spec import AGENT_HOME, AGENT_ID

_WRITTEN = {
    "passwd": f"root:x:0:0:root:/:/bin/false\n"
    f"agent:x:{AGENT_ID}:{AGENT_ID}:agent:{AGENT_HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": f"root:x:0:\nagent:x:{AGENT_ID}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost cage\n::1 localhost\n",
    "hostname": "cage\n",
    "resolv.conf": "",
    "machine-id": "",
    "shells": "/bin/sh\n/bin/bash\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
    "protocols: files\nservices: files\n",
    "gitconfig": "[safe]\n\tdirectory = *\n[core]\n\tfsmonitor = false\n",
}
# Of the host, where it has them: what programs need to start, to know types and to check
# certificates. Nothing that holds a secret, nothing about its users or its network.
FILES = (
    "ld.so.cache", "ld.so.conf", "ld-musl-x86_64.path", "ld-musl-aarch64.path", "localtime",
    "protocols", "services", "mime.types", "os-release", "debian_version",
    "ssl/openssl.cnf", "ssl/cert.pem", "ssl/certs/ca-certificates.crt",
    "pki/tls/certs/ca-bundle.crt", "pki/tls/cert.pem", "pki/tls/openssl.cnf",
)  # fmt: skip
FOLDERS = ("alternatives", "ld.so.conf.d", "crypto-policies/back-ends")
_BOOT = "/proc/sys/kernel/random/boot_id"
_MAKING = "making-"
_TOUCH_SECONDS, _UNUSED_SECONDS = 3_600, 172_800


def shared_etc(folder: str) -> str:
    """The directory below `folder` that `base_etc` has filled: made once, and anew when what it is
    made of has changed, or the machine was started again (a power cut may leave files empty).

    Those that nobody has asked for in two days are removed then. Raises OSError where the folder
    cannot be written.
    """
    path = os.path.join(folder, _fingerprint())
    if os.path.isdir(path) and _keep(path):
        return path
    os.makedirs(folder, 0o700, exist_ok=True)
    _remove_unused(folder)
    made = tempfile.mkdtemp(prefix=_MAKING, dir=folder)
    try:
        base_etc(made)
        os.rename(made, path)
    except OSError:
        shutil.rmtree(made)
        if not os.path.isdir(path):  # by somebody else, meanwhile
            raise
    return path


def _fingerprint() -> str:
    """Of all that `base_etc` depends on."""
    digest = hashlib.sha256(repr((_WRITTEN, FILES, FOLDERS)).encode())
    if os.path.exists(_BOOT):
        with open(_BOOT, "rb") as file:
            digest.update(file.read())
    for path in _sources():
        try:
            about = os.stat(path)
        except OSError:
            continue
        same = (about.st_ino, about.st_mode, about.st_size, about.st_mtime_ns)
        digest.update(repr((path, same)).encode())
    return digest.hexdigest()[:32]


def _sources() -> Iterator[str]:
    """Files and directories of the host, in a fixed order."""
    yield from (os.path.join("/etc", name) for name in FILES)
    for folder in _folders():
        for where, below, names in os.walk(os.path.join("/etc", folder)):
            below.sort()
            yield where  # its time tells that a link in it was replaced
            yield from (os.path.join(where, name) for name in sorted(filter(_wanted, names)))


def _keep(path: str) -> bool:
    """Say that it is in use. Whether it is still there."""
    try:
        if os.stat(path).st_mtime < time.time() - _TOUCH_SECONDS:
            os.utime(path)
    except FileNotFoundError:  # it was just being removed
        return False
    return True


def _remove_unused(folder: str) -> None:
    for entry in list(os.scandir(folder)):
        with suppress(OSError):  # another has removed it, or it is none of ours
            if entry.stat().st_mtime < time.time() - _UNUSED_SECONDS:
                # Under its name it is whole or not there.
                going = (
                    entry.path
                    if entry.name.startswith(_MAKING)
                    else f"{folder}/{_MAKING}{entry.name}"
                )
                os.rename(entry.path, going)
                shutil.rmtree(going)


def _folders() -> list[str]:
    return [*FOLDERS, *sorted(name for name in os.listdir("/etc") if name.startswith("java-"))]


def base_etc(folder: str) -> None:
    """Fill `folder` (made if it is not there). Readable by every account, writable by the owner.

    Raises OSError where the folder cannot be written.
    """
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o755)
    for name in FILES:
        _copy_file(os.path.join("/etc", name), os.path.join(folder, name))
    for name in _folders():
        _copy_folder(os.path.join("/etc", name), os.path.join(folder, name))
    for name, text in _WRITTEN.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o644)


def _wanted(name: str) -> bool:
    """Four of five alternatives are manual pages."""
    return not name.endswith(".gz")


def _copy_file(source: str, target: str) -> None:
    """The content, links followed; what is not there or not for everybody's eyes is left out."""
    if not os.path.isfile(source) or not os.stat(source).st_mode & 0o004:
        return
    _make_folders(os.path.dirname(target))
    shutil.copyfile(source, target)
    os.chmod(target, 0o644)


def _copy_folder(source: str, target: str) -> None:
    """Links stay links (`alternatives` is made of them), except where they lead inside /etc."""
    if not os.path.isdir(source):
        return
    for where, _, names in os.walk(source):
        place = os.path.normpath(os.path.join(target, os.path.relpath(where, source)))
        _make_folders(place)
        for name in names:
            if not _wanted(name):
                continue
            origin, copy = os.path.join(where, name), os.path.join(place, name)
            if os.path.islink(origin) and not os.path.realpath(origin).startswith("/etc/"):
                if os.path.lexists(copy):
                    os.unlink(copy)
                os.symlink(os.readlink(origin), copy)
            else:
                _copy_file(origin, copy)


def _make_folders(path: str) -> None:
    if not os.path.isdir(path):
        _make_folders(os.path.dirname(path))
        os.mkdir(path)
        os.chmod(path, 0o755)
