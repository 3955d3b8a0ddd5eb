"""A task as its events tell it: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .loops import NO_LOOPS, Loops

MAX_TURNS = 400
"""Turns that are remembered for the model; older ones are counted."""

EDITS = frozenset({"replace_text", "write_file", "apply_patch"})

Bulk = str | dict[str, Any]
"""A text, or a reference to it: `{"artifact": SHA-256, "size": bytes}`."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One step as the model saw it: what it said, what it wanted, what came of it."""

    step: int
    said: Bulk = ""
    wanted: Any = None
    result: Bulk = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """An action that was proposed and has not ended."""

    action: str
    kind: str
    step: int
    body: Any
    raw_digest: str | None = None
    started: bool = False
    path: str | None = None
    before: str | None = None
    after: str | None = None
    files: tuple[tuple[str, str, str], ...] = ()
    """Of a patch: each path with its state before and after."""
    approval: str = ""
    answer: str = ""
    """How the approval stands: pending, approved, denied, expired, cancelled, superseded, or
    edited: a person put another action in its place."""
    comment: str = ""
    key: str = ""
    editor: str = ""
    hosts: tuple[str, ...] = ()
    """What its command may reach of the network."""
    like: str = ""
    """The same for actions that say the same."""


@dataclass(frozen=True, slots=True)
class JobFact:
    """A background job as the journal tells it. `reason` is "" while no end of it is known; `seen`:
    how many answers there had been when it ended."""

    id: str
    action: str
    program: str
    reason: str = ""
    detail: str = ""
    characters: int = 0
    artifact: str = ""
    seen: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """A task as its events tell it. `steps` counts this generation's answers, `answers` all."""

    objective: str = ""
    mode: str = "assisted"
    task_key: str = "main"
    require_edit: bool = False
    max_steps: int = 100
    verification: tuple[tuple[str, ...], ...] = ()
    base: str = ""
    base_tree: str = ""
    commit: str = ""
    tree: str = ""
    head: str = ""
    steps: int = 0
    answers: int = 0
    refused_in_row: int = 0
    edit_open: bool = False
    verified_tree: str = ""
    left_out: frozenset[str] = frozenset()
    inputs_changed: frozenset[str] = frozenset()
    """Files that the verification runs, and that were changed at some time."""
    guarded_changed: frozenset[str] = frozenset()
    """Files that other programs obey, or that may hold secrets, and that a command changed."""
    pending: Pending | None = None
    said: Bulk = ""
    turns: tuple[Turn, ...] = ()
    dropped_turns: int = 0
    last_failure: Bulk = ""
    expired: tuple[str, ...] = ()
    """The key of each question that nobody answered in time."""
    jobs: tuple[JobFact, ...] = ()
    """Every background job that was started, in order."""
    lost: bool = False
    """Whether a lease was lost, and the worktree has not been restored since."""
    loops: Loops = NO_LOOPS
    shortened: int = 0
    dropped: int = 0
    """The steps up to these are told to the model without observations, or not at all."""
    squeezed: bool = False
    """Whether the model's server found the prompt too long once: it is half as long since."""
    tries: int = 0
    """Calls of the model that failed since its last answer."""
    fallback: bool = False
    """Whether another model has taken the place of the first."""
    passed: frozenset[tuple[str, int]] = frozenset()
    """Budgets and limits about which a person was asked, and said to go on."""

    @property
    def debt(self) -> bool:
        """Whether something changed since the operator's verification last passed."""
        if self.edit_open:
            return True
        return self.tree != (self.verified_tree or self.base_tree)

    @property
    def changed(self) -> bool:
        """Whether what would be delivered differs from where the run began."""
        return self.tree != self.base_tree


def budget_of(pending: Pending) -> tuple[str, int]:
    """The budget, and its limit, that a question is about."""
    name, _, limit = str(pending.body).removeprefix("budget:").partition(":")
    return name, int(limit or 0)
