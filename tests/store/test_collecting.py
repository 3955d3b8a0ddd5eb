"""Bytes that nothing refers to go after a day; what an event names stays."""

from __future__ import annotations

import os
import time

from runtime import blobs
from runtime.artifacts.collecting import collect
from tests.kit import FINISH, VERIFY, play, workspace

TOMORROW = 25 * 3600


def _collect_all() -> int:
    """A whole walk, a day later; how many files went."""
    gone, after = collect(now=time.time() + TOMORROW)
    while after:
        more, after = collect(now=time.time() + TOMORROW, after=after)
        gone += more
    return gone


def test_C2_an_orphan_is_collected_after_a_day_and_not_before(cast):
    _collect_all()  # what other tests have left
    orphan = blobs.put(b"nobody refers to these bytes")
    assert collect()[0] == 0
    assert _collect_all() == 1
    assert not blobs.exists(orphan)


def test_everything_that_a_run_refers_to_stays(cast):
    workspace(cast.alice, verify=("echo proof",))
    told = play(
        cast.alice,
        [{"kind": "write_file", "path": "big.txt", "content": "x" * 9000}, VERIFY, FINISH],
    )
    named = set(told.run.artifact_set.values_list("sha256", flat=True))
    assert len(named) >= 4
    _collect_all()
    assert all(blobs.exists(digest) for digest in named)


def test_bytes_stored_again_are_young_again(cast):
    digest = blobs.put(b"stored twice")
    old = time.time() - TOMORROW
    os.utime(blobs.path(digest), (old, old))
    blobs.put(b"stored twice")
    assert collect()[0] == 0
    assert blobs.exists(digest)
