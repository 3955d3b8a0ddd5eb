"""Types are checked strictly, with Django's plugin."""

from __future__ import annotations

import pytest

from tests.quality import tree

ROOMS = (
    "core", "policy", "workflow", "models", "journal", "blobs", "secrets", "sandbox", "artifacts",
    "workspaces", "providers", "notify", "people", "tasks", "budgets", "gating", "approvals",
    "runs", "agent",
)  # fmt: skip
"""Layers 0 to 5. What is above is checked as well, as far as it is there."""
ABOVE = ("worker", "present", "live", "web", "cli", "management")


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_types_hold_in_every_room() -> None:
    rooms = [
        f"runtime/{name}" for name in (*ROOMS, *ABOVE) if (tree.ROOT / "runtime" / name).is_dir()
    ]
    result = tree.tool("-m", "mypy", "--no-error-summary", *rooms, "m31a_site", "manage.py")
    assert result.returncode == 0, result.stdout[-8000:]
