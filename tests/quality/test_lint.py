"""Style that a tool can judge."""

from __future__ import annotations

from tests.quality import tree


def test_ruff_finds_nothing() -> None:
    result = tree.tool("-m", "ruff", "check", "--no-cache", "--output-format", "concise", ".")
    assert result.returncode == 0, result.stdout[-8000:]


def test_code_is_formatted() -> None:
    result = tree.tool(
        "-m", "ruff", "format", "--no-cache", "--check", "--output-format", "concise", "."
    )
    assert result.returncode == 0, result.stdout[-4000:]
