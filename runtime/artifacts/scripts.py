"""Scripts of the scripted provider. One that holds a secret is stored sealed."""

from __future__ import annotations

from runtime import blobs
from runtime.core import canonical
from runtime.secrets import open_sealed, redactor, seal

from .store import ArtifactFact, keep

_SEALED = b"m31a-sealed\n"


def keep_script(data: bytes) -> ArtifactFact:
    """Store a script; where redaction would change it, encrypted by the site's key."""
    if any(map(_holds_a_secret, data.splitlines())):
        return keep(_SEALED + seal(data), "script (sealed)", "script")
    return keep(data, "script", "script")


def _holds_a_secret(line: bytes) -> bool:
    """Also one that only its place tells, such as the argument after `--password`."""
    if not line.strip():
        return False
    step = canonical.decode(line)
    return redactor().value(step) is not step


def read_script(digest: str) -> bytes:
    """A stored script as it was given. Raises `Unavailable` where bytes or key are missing."""
    data = blobs.get(digest)
    return open_sealed(data.removeprefix(_SEALED)) if data.startswith(_SEALED) else data
