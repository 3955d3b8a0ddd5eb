"""Fixtures of the store's tests: the cast on either database."""

from __future__ import annotations

import pytest

from tests.kit import Cast


@pytest.fixture
def people(both) -> Cast:  # type: ignore[no-untyped-def]
    """alice submits, bob reviews, sol is the security officer, mallory has nothing."""
    return Cast()
