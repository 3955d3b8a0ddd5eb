"""One cage for all tests of commands and walls, started in the environment of a careless server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import cage_making


@pytest.fixture(scope="session")
def hall() -> Iterator[cage_making.Hall]:
    made = cage_making.Hall()
    try:
        with cage_making.planted():  # when the broker starts
            made.sh("true")
        yield made
    finally:
        made.close()
