"""What the gate is asked, and everything it may know while it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from .decision import Decision
from .facts import Facts, FactType, Links, Look, Which
from .remembered import Remembered
from .rules import RuleLayer

__all__ = [
    "MODES",
    "ApprovalFact",
    "Context",
    "FactType",
    "Facts",
    "GrantFact",
    "Links",
    "Look",
    "Request",
    "Which",
]
MODES = ("plan", "safe", "assisted", "autonomous", "unattended")


@dataclass(frozen=True, slots=True)
class Request:
    """One proposal: the decoded JSON as it came, and on whose behalf."""

    action: object
    run: str
    task: str
    role: str
    kind: str
    mode: str
    workspace: str


@dataclass(frozen=True, slots=True)
class GrantFact:
    """A live grant (not expired, in scope). `decision_max` is ASK, or ESCALATE if security gave it.
    `rule`: it also covers what this rule covers; never an ESCALATE."""

    id: str
    key: str
    decision_max: Decision
    scope: str
    by: str
    rule: Remembered | None = None


@dataclass(frozen=True, slots=True)
class ApprovalFact:
    """The approval being consumed. `decision` is the most that its giver may lift."""

    id: str
    digest: str
    decision: Decision
    by: str


@dataclass(frozen=True, slots=True)
class Context:
    """The world as the gate may see it; built by one room for every door.

    `root`: where the worktree is seen. `write_paths`: patterns of what the task may change,
    () for everything inside. `allowed`: program names. `remotes`: name to address, as recorded
    with the workspace. `verification_inputs`: patterns of what the verification runs;
    `changed_inputs`: files of these that a `finish` would deliver changed; `changed_guarded`:
    guarded files that it, or a push, would hand over as a command has left them;
    `changed_committed`: those that a commit would take.
    `repository_runs`: settings of the repository's own git configuration that run programs,
    where git would obey them. `moment`: when, with its zone, for rules about time; None: nobody
    knows. `links`: None
    only where decisions are repeated that were made without. `audit`: what the caller does with
    the verdict: journal it before anything runs, or only show it; None: neither, so nothing may
    run.
    """

    root: str
    home: str
    write_paths: tuple[str, ...]
    allowed: frozenset[str]
    look: Look
    links: Links | None
    which: Which
    remotes: Mapping[str, str] = field(default_factory=dict)
    verification_inputs: tuple[str, ...] = ()
    changed_inputs: tuple[str, ...] = ()
    changed_guarded: tuple[str, ...] = ()
    changed_committed: tuple[str, ...] = ()
    grants: tuple[GrantFact, ...] = ()
    approval: ApprovalFact | None = None
    tree: str = ""
    layers: tuple[RuleLayer, ...] = ()
    repository_runs: tuple[str, ...] = ()
    moment: datetime | None = None
    audit: Literal["journal", "dry run"] | None = "journal"

    @property
    def path_rules(self) -> bool:
        """Whether any rule is about paths."""
        return any(rule.path for layer in self.layers for rule in layer.rules)
