"""macOS: the profile that denies everything but what a cage is given, and the words that apply it.

Later rules win. Nothing is mounted: paths are the machine's own. Not given: bounds of memory and
processes per command, a private /tmp, a network of its own, other processes out of sight.
"""

from __future__ import annotations

import os

from runtime.core.errors import BadInput
from runtime.sandbox.layout import Cover
from runtime.sandbox.spec import CageSpec

PROGRAM = "/usr/bin/sandbox-exec"
_READ = (
    "/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Frameworks",
    "/Library/Developer/CommandLineTools", "/private/var/db/dyld", "/private/var/db/timezone",
    "/private/var/select", "/opt/homebrew", "/dev/fd",
)  # fmt: skip
_FILES = ("/", "/private/etc/localtime", "/private/etc/ssl/cert.pem", "/private/etc/ssl/openssl.cnf",
          "/private/etc/protocols", "/private/etc/services", "/private/etc/shells")  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper")
# Answers without which the C library cannot tell who one is, or log; none starts another program.
_SERVICES = ("com.apple.system.opendirectoryd.libinfo", "com.apple.system.logger",
             "com.apple.system.notification_center", "com.apple.bsd.dirhelper")  # fmt: skip


def profile(spec: CageSpec, name: str, private: str, covers: tuple[Cover, ...] = ()) -> str:
    """The text for a profile (`tool` or `git`) of a spec. `private` is its home and /tmp.

    Raises BadInput for a path that the language cannot hold.
    """
    writable = [private] + _sources(spec, name, writable=True)
    readable = [*_READ, *_sources(spec, name, writable=False), *writable]
    fixed = [cover.target for cover in covers if not cover.hide]
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        _rule("allow", "file-read* file-test-existence", "literal", _FILES),
        _rule("allow", "file-read* file-map-executable", "subpath", readable),
        _rule("allow", "process-exec*", "subpath", readable),
        _rule("allow", "file-read* file-write-data file-ioctl", "literal", _DEVICES),
        _rule("allow", "file-write*", "subpath", writable),
        _rule("allow", "mach-lookup", "global-name", _SERVICES),
        "(deny file-write-setugid)",
        "(deny file-write-create (vnode-type BLOCK-DEVICE) (vnode-type CHARACTER-DEVICE))",
        "(deny network*)",
    ]
    if fixed:  # and its way must not be moved aside: then another could be put in its place
        above = sorted({path for place in fixed for path in _above(place, writable)})
        lines.append(_rule("deny", "file-write*", "subpath", fixed))
        lines.append(_rule("deny", "file-write-unlink", "literal", above))
    return "\n".join(lines) + "\n"


def argv(text: str, words: list[bytes]) -> list[bytes]:
    """The command with its wrapper first: there is no way to it without one."""
    return [os.fsencode(PROGRAM), b"-p", text.encode(), *words]


def _sources(spec: CageSpec, name: str, *, writable: bool) -> list[str]:
    return [
        os.path.realpath(mount.source)
        for mount in spec.mounts
        if mount.writable == writable and mount.only in (None, name)
    ]


def _above(path: str, roots: list[str]) -> list[str]:
    """The path and the directories above it, down from the writable one that it lies in."""
    found = []
    while path != "/" and any(path == root or path.startswith(root + "/") for root in roots):
        found.append(path)
        path = os.path.dirname(path)
    return found


def _rule(verdict: str, what: str, how: str, paths: tuple[str, ...] | list[str]) -> str:
    return f"({verdict} {what}{''.join(f' ({how} {_quoted(path)})' for path in paths)})"


def _quoted(text: str) -> str:
    if any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in text):
        raise BadInput(
            f"The path {text!r} cannot be written into a sandbox profile.",
            remedy="Use a directory whose path has no control characters.",
            field="path",
        )
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
