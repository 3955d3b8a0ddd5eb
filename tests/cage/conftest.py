"""One cage for all tests of this folder, and the environment of a careless server around it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import cage_making


@pytest.fixture(scope="session")
def hall() -> Iterator[cage_making.Hall]:
    before = dict(os.environ)
    os.environ.update(cage_making.PLANTED)
    made = cage_making.Hall()
    made.sh("true")
    try:
        yield made
    finally:
        made.close()
        os.environ.clear()
        os.environ.update(before)
