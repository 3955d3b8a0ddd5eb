"""What a command finds in its environment: this, and nothing of the server's."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from runtime.core.errors import BadInput
from runtime.sandbox.prepared import Prepared
from runtime.sandbox.spec import AGENT_HOME

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

# GIT_CONFIG_NOSYSTEM is left unset: /etc/gitconfig is the server's own and says safe.directory.
_FIXED = {
    "HOME": AGENT_HOME,
    "USER": "agent",
    "LOGNAME": "agent",
    "SHELL": "/bin/sh",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "CI": "1",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PIP_NO_INPUT": "1",
    "DEBIAN_FRONTEND": "noninteractive",
}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# bubblewrap itself, outside the cage, gets this environment: nothing that its loader or its C
# library reads may be in it.
_LOADER = re.compile(r"(LD_.*|GLIBC_TUNABLES|GCONV_PATH|GETCONF_DIR|LOCPATH|NLSPATH|MALLOC_.*"
                     r"|RES_OPTIONS|HOSTALIASES|LOCALDOMAIN|TZDIR|NIS_PATH|RESOLV_.*)\Z")  # fmt: skip


def build(path: tuple[str, ...], *additions: Mapping[str, str]) -> dict[bytes, bytes]:
    """The environment of one command; later additions win.

    Raises BadInput for a name or value that no environment can hold, and for names that the
    program loader obeys.
    """
    values = _FIXED | {"PATH": ":".join((*path, SYSTEM_PATH))}
    for more in additions:
        for name, value in more.items():
            check(name, value)
            values[name] = value
    return {os.fsencode(name): os.fsencode(value) for name, value in values.items()}


def placed(values: Mapping[bytes, bytes], prepared: Prepared) -> dict[bytes, bytes]:
    """The same where the cage's places are somewhere else: PATH, and what the backend sets unless
    the command has its own."""
    found = dict(values)
    folders = os.fsdecode(found[b"PATH"]).split(":")
    found[b"PATH"] = os.fsencode(":".join(prepared.place(folder) for folder in folders))
    for name, value in prepared.env.items():
        usual = _FIXED.get(name)
        if found.get(os.fsencode(name)) == (None if usual is None else os.fsencode(usual)):
            found[os.fsencode(name)] = os.fsencode(value)
    return found


def check(name: str, value: str) -> None:
    """Raise BadInput unless a command may be given this variable."""
    if not _NAME.match(name):
        raise BadInput(f"{name!r} is not a name for an environment variable.", field="env")
    if _LOADER.match(name):
        raise BadInput(
            f"The environment variable {name} steers the program loader and is not passed on.",
            remedy="Remove it.",
            field="env",
        )
    if "\0" in value:
        raise BadInput(f"The environment variable {name} contains a NUL.", field="env")
