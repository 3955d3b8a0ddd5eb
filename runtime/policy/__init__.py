"""The gate: what a proposed action may do, decided without any effect."""

from __future__ import annotations

from .context import MODES, ApprovalFact, Context, Facts, GrantFact, Links, Look, Request, Which
from .decision import Decision, worst
from .gate import gate
from .hashing import policy_hash
from .programs import DEFAULT_PROGRAMS
from .programs.git_config import settings_that_run
from .remembered import Remembered
from .rules import Rule, RuleLayer
from .stages import STAGES
from .verdict import STAGE_NAMES, StageResult, Verdict

__all__ = [
    "DEFAULT_PROGRAMS",
    "MODES",
    "STAGES",
    "STAGE_NAMES",
    "ApprovalFact",
    "Context",
    "Decision",
    "Facts",
    "GrantFact",
    "Links",
    "Look",
    "Remembered",
    "Request",
    "Rule",
    "RuleLayer",
    "StageResult",
    "Verdict",
    "Which",
    "gate",
    "policy_hash",
    "settings_that_run",
    "worst",
]
