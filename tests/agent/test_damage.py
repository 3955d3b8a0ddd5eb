"""Runs whose record or stored bytes were damaged: they end, and say why."""

from __future__ import annotations

from runtime import blobs
from tests.kit import EDIT, FINISH, VERIFY, submit, workspace


def test_a_record_that_cannot_be_followed_ends_the_task_and_says_why(cast):
    workspace(cast.alice, verify=("true " + "x" * 5000,))
    told = submit(cast.alice, [EDIT, VERIFY, FINISH])
    digest = told.last("run.submitted")["verification"]["artifact"]
    blobs.path(digest).unlink()
    told.work()
    assert (told.state, told.reason) == ("failed", "unavailable")
    assert digest in told.last("task.failed")["detail"]
