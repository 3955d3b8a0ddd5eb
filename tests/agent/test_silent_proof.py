"""Code under test that ends the test runner before it can fail."""

from __future__ import annotations

from tests.agent.scenes import seen, write
from tests.kit import FINISH, VERIFY, play, workspace

TESTS = """
import code_of
import unittest


class Test(unittest.TestCase):
    def test(self):
        self.fail()
"""


def test_T013_a_runner_that_is_ended_from_within_proves_nothing(cast):
    workspace(cast.alice, verify=("python3 -m unittest -q test_it",))
    told = play(
        cast.alice,
        [
            write("test_it.py", TESTS),
            write("code_of.py", "import os\nos._exit(0)\n"),
            VERIFY,
            FINISH,
        ],
    )
    assert "unittest ended well, but without its report" in seen(told)[-2]
    assert told.types.count("verification.failed") == 1
    assert "finish.refused" in told.types and "delivery.completed" not in told.types
