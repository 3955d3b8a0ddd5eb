"""A run's references to stored bytes: kept, listed, read. Text is redacted before it is stored."""

from .scripts import keep_script, read_script
from .store import (
    MAX_RUN_BYTES,
    ArtifactFact,
    for_run,
    get,
    has_room,
    keep,
    keep_text,
    references,
    used,
)

__all__ = [
    "MAX_RUN_BYTES",
    "ArtifactFact",
    "for_run",
    "get",
    "has_room",
    "keep",
    "keep_script",
    "keep_text",
    "read_script",
    "references",
    "used",
]
