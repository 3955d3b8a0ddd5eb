"""`policy.decided`: the gate's verdict, with all eleven stages."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from runtime.journal.kind import Payload


class PolicyDecided(Payload):
    """The gate's verdict, with all eleven stages."""

    type = "policy.decided"
    bulky = ("stages", "facts", "programs", "effects", "operands", "reason")

    action: str
    kind: str
    decision: str
    rule: str
    source: str
    reason: str
    risk: str
    mutation: bool
    effects: list[str]
    stages: list[list[str]]
    key: str
    digest: str
    policy_hash: str
    operands: list[list[str]] = Field(default_factory=list)
    facts: list[list[Any]] = Field(default_factory=list)
    programs: list[list[str]] = Field(default_factory=list)
    moment: str = ""
