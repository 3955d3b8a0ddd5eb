"""Bytes under their hash: stored once, whole, and checked when they are read."""

from __future__ import annotations

import multiprocessing
import os
from hashlib import sha256
from pathlib import Path

import pytest
from django.conf import settings

from runtime import artifacts, blobs
from runtime.core.errors import BadInput, NotFound
from runtime.journal import verify
from runtime.models import Artifact
from tests.kit import FINISH, play, workspace
from tests.store.store_kit import a_run


def _files() -> list[Path]:
    return [path for path in (settings.M31A.DATA_DIR / "blobs").rglob("*") if path.is_file()]


def test_C1_the_same_bytes_twice_are_one_blob():
    data = os.urandom(64)
    digest = blobs.put(data)
    assert digest == sha256(data).hexdigest()
    before = blobs.path(digest).stat().st_ino
    assert blobs.put(data) == digest
    assert blobs.path(digest).stat().st_ino == before
    assert [path.name for path in _files()].count(digest) == 1
    assert blobs.get(digest) == data


def test_C1_two_references_to_the_same_bytes(site):
    data = os.urandom(64)
    for run in (a_run(), a_run()):
        fact = artifacts.keep(data, "n", "k")
        Artifact.objects.create(run=run, created_at=run.created_at, **fact.payload())
    assert artifacts.references(fact.sha256).count() == 2
    assert artifacts.get(fact.sha256) == data


def test_bytes_that_no_run_refers_to_are_not_given_out(site):
    with pytest.raises(NotFound, match="No run refers"):
        artifacts.get(blobs.put(os.urandom(8)))


def test_a_blob_is_readable_by_its_owner_alone():
    path = blobs.path(blobs.put(os.urandom(8)))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", ["changed", "cut", "emptied", "longer"])
def test_C3_a_blob_that_was_changed_on_disk_is_refused_by_name_and_can_be_stored_again(damage):
    data = os.urandom(64)
    digest = blobs.put(data)
    path = blobs.path(digest)
    wrong = {"changed": b"x" + data[1:], "cut": data[:9], "emptied": b"", "longer": data + b"x"}
    path.write_bytes(wrong[damage])
    with pytest.raises(blobs.BlobDamaged, match=digest):
        blobs.get(digest)
    assert blobs.put(data) == digest
    assert blobs.get(digest) == data


def test_a_blob_that_is_gone_is_said_to_be_missing():
    with pytest.raises(blobs.BlobMissing, match="0" * 64):
        blobs.get("0" * 64)
    assert not blobs.exists("0" * 64)


@pytest.mark.parametrize(
    "name", ["", "x", "../../keys/secret", "A" * 64, "0" * 63, "0" * 63 + "\n"]
)
def test_what_is_no_hash_names_no_file(name):
    for use in (blobs.get, blobs.exists, blobs.path):
        with pytest.raises(BadInput, match="SHA-256"):
            use(name)


def test_C4_a_blob_over_the_bound_is_refused_with_the_numbers(monkeypatch):
    from runtime.blobs import store

    monkeypatch.setattr(store, "MAX_BLOB", 10)
    before = len(_files())
    with pytest.raises(BadInput, match="11 bytes is over the bound of 10"):
        blobs.put(b"x" * 11)
    assert len(_files()) == before
    assert blobs.get(blobs.put(b"x" * 10)) == b"x" * 10


@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_C2_a_failure_before_the_rename_leaves_neither_name_nor_stray_file(monkeypatch, place):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    data = os.urandom(32)
    before = _files()
    with monkeypatch.context() as broken:
        broken.setattr(os, place, fail)
        with pytest.raises(OSError, match="No space"):
            blobs.put(data)
    assert _files() == before
    assert not blobs.exists(sha256(data).hexdigest())


def test_a_file_that_is_still_being_written_is_no_blob():
    folder = blobs.path("0" * 64).parent
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".new-abc").write_bytes(b"half")
    assert not blobs.exists("0" * 64)
    (folder / ".new-abc").unlink()


def _put_many(seed: int) -> list[str]:
    return [blobs.put(f"{seed % 2}-{n}".encode() * 1000) for n in range(20)]


def test_processes_that_store_the_same_bytes_at_once_agree():
    before = set(_files())
    with multiprocessing.get_context("fork").Pool(3) as pool:
        results = pool.map(_put_many, range(3))
    assert results[0] == results[2]
    for digest in {one for some in results for one in some}:
        blobs.get(digest)
    stored = {digest for some in results for digest in some}
    assert {path.name for path in set(_files()) - before} <= stored


def test_C3_a_changed_artifact_is_reported_by_audit_verify(cast):
    workspace(cast.alice)
    told = play(cast.alice, [{"kind": "create_artifact", "name": "n", "content": "kept"}, FINISH])
    (fact,) = told.of("action.completed")[0]["artifacts"]
    path = blobs.path(fact["sha256"])
    path.chmod(0o600)
    path.write_bytes(b"other")
    found = verify.verify(told.run.pk)
    path.write_bytes(b"kept")  # whole again, for the tests that read every blob
    assert not found["ok"] and fact["sha256"] in found["reason"]
