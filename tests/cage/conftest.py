"""Cages for tests: one for all commands and walls, one with a session, and the ground of probes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import cage_making
import ground as grounds
import sessions


@pytest.fixture(scope="session")
def hall() -> Iterator[cage_making.Hall]:
    """Started in the environment of a careless server."""
    made = cage_making.Hall()
    try:
        with cage_making.planted():  # when the broker starts
            made.sh("true")
        yield made
    finally:
        made.close()


@pytest.fixture
def kept_hall() -> Iterator[cage_making.Hall]:
    """One of its own, whose session stands."""
    made = cage_making.Hall()
    try:
        sessions.stands(made.cage)
        yield made
    finally:
        made.close()


@pytest.fixture
def ground() -> Iterator[grounds.Ground]:
    """What probes must not reach, in the environment of a careless server."""
    made = grounds.Ground()
    try:
        with cage_making.planted():
            yield made
    finally:
        made.close()
