"""Storing bytes for a run. The reference is a row that goes in with the event that names it."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import QuerySet, Sum

from runtime import blobs
from runtime.core.errors import NotFound
from runtime.models import Artifact
from runtime.secrets import redactor

MAX_NAME = 255


class ArtifactFact(NamedTuple):
    """What an event says of an artifact: hash, name, kind, and size in bytes."""

    sha256: str
    name: str
    kind: str
    size: int

    def payload(self) -> dict[str, Any]:
        """As it stands in an event."""
        return self._asdict()


def keep(data: bytes, name: str, kind: str) -> ArtifactFact:
    """Store bytes as they are; the name is redacted, then cut. Raises `BadInput` over the bound
    of a blob."""
    return ArtifactFact(blobs.put(data), redactor().text(name)[:MAX_NAME], kind, len(data))


def keep_text(text: str, name: str, kind: str) -> ArtifactFact:
    """Store text, redacted."""
    data = redactor().text(text).encode("utf-8", "surrogateescape")
    return keep(data, name, kind)


def used(run: str) -> int:
    """Bytes of all artifacts of a run."""
    return int(Artifact.objects.filter(run=run).aggregate(total=Sum("size"))["total"] or 0)


def has_room(run: str, size: int, bound: int) -> bool:
    """Whether a run that may keep `bound` bytes together has room for so many more."""
    return used(run) + size <= bound


def for_run(run: str) -> QuerySet[Artifact]:
    """The artifacts of a run, oldest first."""
    return Artifact.objects.filter(run=run).order_by("id")


def references(digest: str) -> QuerySet[Artifact]:
    """Every reference to these bytes."""
    return Artifact.objects.filter(sha256=digest).order_by("id")


def get(digest: str) -> bytes:
    """The bytes of an artifact, checked against their hash. Raises `NotFound` where no run
    refers to them."""
    if not references(digest).exists():
        raise NotFound(
            f"No run refers to an artifact {digest}.", remedy="`m31a artifacts RUN` lists them."
        )
    return blobs.get(digest)
