"""The gate's answer, whole: the decision, who decided it, and everything that was looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from runtime.core.actions import Action

from .context import Facts
from .decision import Decision
from .remembered import Remembered

Source = Literal["rule", "grant", "person", "mode", "default", "error"]
"""Who decided: a rule (of the operator, or built in; the stage says which), a remembered answer,
a person's answer, the run's mode, a developer default, or a stage that failed."""
Risk = Literal["low", "medium", "high"]
STAGE_NAMES = (
    "intake",
    "canonicalise",
    "boundary",
    "veto",
    "admin",
    "workspace",
    "role",
    "defaults",
    "mode",
    "grants",
    "audit",
)
CHANGES_VERIFICATION = "changes what the verification runs: "
CHANGES_GUARDED = "hands over a guarded file: "
COMMITS_GUARDED = "commits a guarded file: "
"""How the effects begin that name such a file."""
_MAX_SHOWN = 400
_MAX_LISTED = 24


@dataclass(frozen=True, slots=True)
class StageResult:
    """What one stage found. `outcome` None: it had nothing to say."""

    name: str
    outcome: Decision | None
    reason: str
    rule: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`stages` are always eleven, in order. `key` and `digest` as the approvals use them;
    `operands` are content hashes by path; `facts` every answer of `look`, `programs` of `which`,
    in order; `moment` when it was, or ""."""

    decision: Decision
    rule: str
    source: Source
    reason: str
    stages: tuple[StageResult, ...]
    action: Action | None
    key: str
    digest: str
    operands: Mapping[str, str]
    mutation: bool
    risk: Risk
    effects: tuple[str, ...]
    facts: tuple[tuple[str, Facts], ...]
    programs: tuple[tuple[str, str | None], ...]
    moment: str
    policy_hash: str
    offers: tuple[Remembered, ...] = ()
    """What a person may agree to in place of the exact action, where one is asked."""
    network: bool = False
    """Whether a command of it needs the network."""
    hosts: tuple[str, ...] = ()
    """The hosts that such a command names."""
    connects: bool = False
    """Whether it may have the network that it needs: a person, a remembered answer or an
    operator's rule said so, never a default or a mode."""

    def as_payload(self) -> dict[str, Any]:
        """The form that is journaled: JSON of text, integers, lists and ASCII keys only.

        Long texts are cut with a mark; facts, programs and operands are never cut.
        """
        return {
            "decision": str(self.decision),
            "rule": self.rule,
            "source": self.source,
            "reason": shorten(self.reason),
            "stages": [
                {
                    "name": stage.name,
                    "outcome": None if stage.outcome is None else str(stage.outcome),
                    "reason": shorten(stage.reason, 160),
                    "rule": stage.rule,
                }
                for stage in self.stages
            ],
            "key": self.key,
            "digest": self.digest,
            "operands": [[path, digest] for path, digest in sorted(self.operands.items())],
            "mutation": self.mutation,
            "risk": self.risk,
            "effects": _some(self.effects),
            "facts": [
                [path, fact.type, fact.resolved, fact.inside, fact.sha256, fact.executable]
                for path, fact in self.facts
            ],
            "programs": [[name, file or ""] for name, file in self.programs],
            "moment": self.moment,
            "policy_hash": self.policy_hash,
        }


def shorten(text: str, limit: int = _MAX_SHOWN) -> str:
    """`text`, or its beginning and how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} more characters)"


def _some(items: tuple[str, ...]) -> list[str]:
    shown = [shorten(item, 200) for item in items[:_MAX_LISTED]]
    if len(items) > _MAX_LISTED:
        shown.append(f"and {len(items) - _MAX_LISTED} more")
    return shown
