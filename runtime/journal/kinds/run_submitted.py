"""`run.submitted`: somebody handed over an objective; its tasks exist from here on."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from runtime.journal.kind import Payload


class RunSubmitted(Payload):
    """Somebody handed over an objective; its tasks exist from here on.

    `artifacts` are the references that it brings: the script of a scripted provider.
    """

    type = "run.submitted"
    bulky = ("objective", "verification", "left_out", "warnings")

    objective: str
    workspace: str
    workflow: str
    provider: str
    script: str = ""
    mode: str
    require_edit: bool
    max_steps: int
    max_attempts: int
    key: str | None = None
    submitted_by: str
    verification: list[list[str]]
    uid: int | None = None
    base: str
    tree: str
    uncommitted: int
    left_out: list[str] = Field(default_factory=list)
    tasks: list[dict[str, str]]
    warnings: list[str] = Field(default_factory=list)
    artifacts: list[dict[str, Any]] = Field(default_factory=list)
    budgets: dict[str, int] | None = None
    """Its limits by name, but for steps and attempts."""
