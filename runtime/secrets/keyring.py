"""Keys of model servers: from the environment, or from one file that nobody else can read.

`M31A_KEYS_FILE`, or `keys/providers.toml` of the data folder, holds lines such as
`OPENAI_API_KEY = "…"` under the same names as the environment, which goes first. Keys stay in
memory: they are in no database, no journal, no child's environment and on no page.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

from runtime.core.errors import BadInput

SETTING = "M31A_KEYS_FILE"
MAX_FILE = 64 << 10
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,80}_(?:KEY|TOKEN)\Z")


def place(env: Mapping[str, str]) -> Path | None:
    """Where the file is, if there is to be one; None outside a site without the setting."""
    if named := env.get(SETTING, "").strip():
        return Path(named).expanduser()
    from django.conf import settings  # only here, so that a provider can be loaded without Django

    if not settings.configured:
        return None
    return Path(settings.M31A.DATA_DIR) / "keys" / "providers.toml"


def stored(env: Mapping[str, str]) -> dict[str, str]:
    """The keys of the file, by name; none where there is no file.

    Raises `BadInput` for a file that others can read, or that is no list of keys.
    """
    path = place(env)
    if path is None:
        return {}
    try:
        data = _read(path)
    except FileNotFoundError:
        if env.get(SETTING, "").strip():
            raise _bad(path, "is not there", f"Make it, or unset {SETTING}.") from None
        return {}
    except OSError as error:
        remedy = "Let the account that runs the server read it."
        raise _bad(path, f"cannot be read: {error.strerror}", remedy) from None
    return _parse(path, data)


def _read(path: Path) -> bytes:
    """The content, if the file is a plain one of this account and closed to all others."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(path, flags), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise _bad(path, "is not a file", "Put the keys into a plain file.")
        mode = stat.S_IMODE(about.st_mode)
        if mode & 0o077:
            raise _bad(path, f"is open to other accounts (mode {mode:o})", f"chmod 600 {path}")
        if about.st_uid not in (0, os.geteuid()):
            raise _bad(path, f"belongs to account {about.st_uid}", "Own it, mode 600.")
        return file.read(MAX_FILE + 1)


def _parse(path: Path, data: bytes) -> dict[str, str]:
    remedy = 'Write lines such as OPENAI_API_KEY = "…".'
    if len(data) > MAX_FILE:
        raise _bad(path, f"has more than {MAX_FILE} bytes", remedy)
    try:
        values = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        # What the parser says may quote the line, and with it a key.
        raise _bad(path, "is not TOML", remedy) from None
    for name, value in values.items():
        if not _NAME.match(name) or not isinstance(value, str):
            raise _bad(path, f"holds {name[:40]!r}, which is no key", remedy)
    return values


def _bad(path: Path, what: str, remedy: str) -> BadInput:
    return BadInput(f"The file of keys {path} {what}.", remedy=remedy, field=SETTING)
