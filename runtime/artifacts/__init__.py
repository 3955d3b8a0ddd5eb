"""A run's references to stored bytes: kept, listed, read. Text is redacted before it is stored."""

from .scripts import keep_script, read_script
from .store import (
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
