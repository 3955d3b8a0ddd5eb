"""Whatever a kill leaves behind goes in its time, and nothing else does."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from runtime import blobs, runs
from runtime.artifacts.collecting import collect as collect_blobs
from runtime.core.digests import sha256
from runtime.journal import deltas, hint
from runtime.models import Delta, Run, SealedBytes
from runtime.runs import collecting, reading
from runtime.worker.collector import Collector
from tests.agent.scenes import shell, space, write
from tests.durable import faulty
from tests.durable.scene import Scene
from tests.kit import EDIT, FINISH, VERIFY, Cast, play, repository, workspace

DAY = 24 * 3600
SECRET = "ghp_" + "Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4J3i2"


@pytest.fixture(autouse=True)
def nothing_old(hall: Cast) -> Iterator[None]:
    """What the tests before left is no concern of this one."""
    collecting.collect(time.time() + 400 * DAY)
    yield


def folders() -> set[str]:
    return set(os.listdir(settings.M31A.DATA_DIR / "runs"))


def later(days: float) -> collecting.Collected:
    return collecting.collect(time.time() + days * DAY)


def test_a_submission_that_was_killed_leaves_files_that_go_after_a_day(hall: Cast):
    scene, other = Scene(hall), Scene(hall)
    other.hand_over()
    before = folders()
    scene.die(scene.hand_over, "submit.before_commit=kill")
    (left,) = folders() - before
    assert not Run.objects.filter(pk=left).exists()
    assert collecting.collect().runs == 0, "its row may still come"
    assert folders() == before | {left}
    assert later(1.1).runs == 1
    assert folders() == before
    assert later(1.1).runs == 0
    other.do(other.work, other.decide, other.work)
    other.ended_well(lost=0)


def test_the_files_of_a_run_that_waits_stay_however_old_they_are(hall: Cast):
    scene = Scene(hall)
    scene.do(scene.hand_over, scene.work)
    # The temporary folder is everybody's on this machine.
    assert later(300)._replace(temporary=0) == collecting.Collected()
    scene.do(scene.decide, scene.work)
    scene.ended_well(lost=0)


def test_half_a_blob_goes_after_a_day(hall: Cast):
    data = b"bytes that are never whole" * 9
    pid = faulty.start(lambda: blobs.put(data), "blob.before_fsync=kill")
    assert faulty.end_of(pid) == -9
    (half,) = blobs.path(sha256(data)).parent.glob(".new-*")
    assert _blobs(time.time()) >= 0 and half.exists()
    assert _blobs(time.time() + 1.1 * DAY) >= 1
    assert not half.exists() and not blobs.exists(sha256(data))


def _blobs(at: float) -> int:
    gone, after = collect_blobs(at)
    while after:
        more, after = collect_blobs(at, after)
        gone += more
    return gone


def test_a_walk_over_stored_files_goes_on_behind_a_temporary_one(
    hall: Cast, monkeypatch: pytest.MonkeyPatch
):
    folder = blobs.path("a" * 64).parent
    folder.mkdir(exist_ok=True)
    halves = [folder / f".new-{number}" for number in range(4)]
    for half in halves:
        half.write_bytes(b"")
    monkeypatch.setattr("runtime.artifacts.collecting.PER_PASS", 2)
    marks, after = set(), ""
    while True:
        _, after = collect_blobs(after=after)
        assert after not in marks, "the walk turns in a circle"
        if not after:
            break
        marks.add(after)
    for half in halves:
        half.unlink()


def test_a_preview_goes_whose_message_is_on_the_record(hall: Cast):
    scene = Scene(hall, [{**write("notes.txt", "changed\n"), "say": "I think aloud."}])
    scene.hand_over()
    scene.die(scene.work, "step.after_commit=kill@1")
    assert "message.completed" in scene.told.types
    assert Delta.objects.filter(run=scene.run).exists()
    assert later(0).previews == 1
    assert not Delta.objects.filter(run=scene.run).exists()
    runs.cancel(scene.run, hall.alice)
    scene.do(scene.work)
    assert "message.cut" not in scene.told.types


def test_a_preview_stays_while_somebody_is_speaking_and_goes_with_the_task(hall: Cast):
    scene = Scene(hall)
    scene.hand_over()
    scene.die(scene.work, "step.before_effect=kill@1")
    with deltas.DeltaWriter(scene.run, scene.task.pk, "m" * 26) as writer:
        writer.add("words")
    assert later(0).previews == 0, "whoever takes the task back marks it as cut"
    scene.do(scene.reap)
    assert scene.told.of("message.cut")[0]["text"] == "words"
    with deltas.DeltaWriter(scene.run, scene.task.pk, "n" * 26) as writer:
        writer.add("of nobody")
    assert later(0).previews == 1
    runs.cancel(scene.run, hall.alice)


def test_a_sealed_action_goes_when_it_has_ended_and_not_before(hall: Cast):
    scene = Scene(hall, [shell(f"echo {SECRET} | wc -c"), shell("eval echo x")])
    scene.hand_over()
    scene.die(scene.work, "step.after_effect=kill@1")
    assert SealedBytes.objects.filter(run=scene.run).count() == 1
    assert later(0).sealed == 0, "it is not known how it ended"
    scene.do(scene.reap)
    assert later(0).sealed == 0
    scene.do(scene.work)
    row = {"run": scene.run, "digest": "d", "sealed": b"x"}
    assert scene.told.types.count("action.outcome_unknown") == 1
    SealedBytes.objects.get_or_create(action=f"{scene.task.pk}.1", defaults=row)
    SealedBytes.objects.create(action=f"{scene.task.pk}.2", **row)  # of the one that waits
    assert later(0).sealed == 1
    assert list(SealedBytes.objects.values_list("action", flat=True)) == [f"{scene.task.pk}.2"]
    runs.cancel(scene.run, hall.alice)
    SealedBytes.objects.create(action=f"{scene.task.pk}.2", **row)
    SealedBytes.objects.create(action=f"{'0' * 26}.2", **{**row, "run": "0" * 26})
    assert later(0).sealed == 2, "its task has ended, and the other's there never was"


def test_the_socket_of_a_dead_listener_goes(hall: Cast):
    folder = hint.folder()
    folder.mkdir(exist_ok=True)
    left, alive = folder / "4194304.dead.sock", folder / "1.alive.sock"
    ears = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
    for ear, path in zip(ears, (left, alive), strict=True):
        ear.bind(str(path))
    ears[0].close()
    collecting.collect()
    assert alive.exists() and not left.exists()
    ears[1].close()
    alive.unlink()


def test_the_worktree_of_a_run_goes_after_its_time_and_its_record_stays(hall: Cast):
    told = play(hall.alice, [EDIT, shell("mkdir -p x.log/b && chmod 0500 x.log/b"), VERIFY, FINISH])
    assert told.state == "succeeded"
    files, diff = space(told), reading.diff(told.run.pk)
    assert "+changed" in diff
    about = files.tree.stat()
    assert later(settings.M31A.WORKTREE_DAYS - 1).worktrees == 0
    assert later(settings.M31A.WORKTREE_DAYS + 1).worktrees == 1
    now = files.tree.stat()
    assert list(files.tree.iterdir()) == []
    assert (now.st_uid, now.st_gid, now.st_mode) == (about.st_uid, about.st_gid, about.st_mode)
    assert reading.diff(told.run.pk) == diff
    assert files.exists() and not list(files.folder.glob(".gone-*"))
    assert later(settings.M31A.WORKTREE_DAYS + 1).worktrees == 0


def test_a_workspace_that_keeps_nothing_keeps_no_worktree_either(hall: Cast):
    workspace(hall.alice, repository({"notes.txt": "first\n"}), "bare", retention="none")
    told = play(hall.alice, [EDIT, VERIFY, FINISH], workspace="bare")
    assert later(0.1).worktrees == 1
    assert list(space(told).tree.iterdir()) == []


def test_a_failed_run_is_tried_again_after_its_worktree_went(hall: Cast):
    look = {"kind": "list_files"}
    told = play(hall.alice, [EDIT, look, VERIFY, FINISH], max_steps=2)
    assert told.state == "failed"
    assert later(settings.M31A.WORKTREE_DAYS + 1).worktrees == 1
    runs.retry(told.run.pk, hall.alice)
    assert later(settings.M31A.WORKTREE_DAYS + 1).worktrees == 0, "somebody may be at work"
    told.work()
    assert told.state == "succeeded", told.reason
    assert (space(told).tree / "notes.txt").read_text() == "changed\n"


def test_who_is_killed_while_removing_a_worktree_leaves_it_to_the_next(
    hall: Cast, monkeypatch: pytest.MonkeyPatch
):
    told = play(hall.alice, [EDIT, VERIFY, FINISH])

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(collecting.worktree, "remove", killed)
        later(settings.M31A.WORKTREE_DAYS + 1)
    assert list(space(told).folder.glob(".gone-tree-*"))
    later(settings.M31A.WORKTREE_DAYS + 1)
    assert not list(space(told).folder.glob(".gone-*"))


def test_folders_of_ours_in_the_systems_temporary_folder_go_after_a_week(
    hall: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old = Path(tempfile.mkdtemp(prefix="m31a-etc-"))
    young = Path(tempfile.mkdtemp(prefix="m31a-lookup-"))
    foreign = Path(tempfile.mkdtemp(prefix="m31a-elsewhere-"))
    (old / "passwd").write_text("x")
    link = young.with_name(f"{young.name}-link")
    link.symlink_to(foreign)
    for path in (old, foreign):
        os.utime(path, (time.time() - 8 * DAY,) * 2)
    try:
        assert collecting.collect().temporary == 1
        assert not old.exists()
        assert young.exists() and foreign.exists() and link.is_symlink()
    finally:
        link.unlink()
        young.rmdir()
        foreign.rmdir()


def test_the_reconciler_collects_once_an_hour(hall: Cast, monkeypatch: pytest.MonkeyPatch):
    calls: list[int] = []
    found = collecting.Collected(runs=1)
    monkeypatch.setattr(collecting, "collect", lambda: calls.append(1) or found)
    collector = Collector()
    for _ in range(3):
        collector.tick()
    while collector._after:
        collector.tick()
    assert calls == [1]
    collector._next = time.monotonic()
    collector.tick()
    assert calls == [1, 1]
