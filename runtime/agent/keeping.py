"""What is kept of outputs: by the workspace's retention, and within the run's bound."""

from __future__ import annotations

from typing import NamedTuple

from runtime import artifacts
from runtime.artifacts import ArtifactFact
from runtime.core.errors import Refused

from .session import Session


class Kept(NamedTuple):
    """The artifact, if there is one, and what the model is told about the whole."""

    facts: list[ArtifactFact]
    note: str


def keep_output(session: Session, text: str, name: str, kind: str) -> Kept:
    """Keep an output, redacted, or say why it is not kept."""
    if session.workspace.retention == "none":
        return Kept([], "[the whole is not kept: this workspace keeps no output]\n")
    bound = session.purse.artifact_bytes
    if not artifacts.has_room(session.run.pk, len(text), bound):
        return Kept([], f"[the whole is not kept: the run's artifacts reach their {bound} bytes]\n")
    fact = artifacts.keep_text(text, name, kind)
    return Kept([fact], f"[the whole is artifact {fact.sha256}]\n")


def keep_given(session: Session, text: str, name: str) -> ArtifactFact:
    """Keep what the model itself wrote. Raises `Refused` with the numbers over the run's bound."""
    bound = session.purse.artifact_bytes
    if not artifacts.has_room(session.run.pk, len(text), bound):
        used = artifacts.used(session.run.pk)
        raise Refused(
            f"The artifact has {len(text)} characters; the run has used {used} of {bound} bytes.",
            remedy="Keep less.",
        )
    return artifacts.keep_text(text, name, "model")
