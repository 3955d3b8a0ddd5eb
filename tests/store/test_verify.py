"""Whatever is done to the record behind the application's back is found, and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

from runtime.core.errors import BadInput, NotFound
from runtime.journal import read, verify
from runtime.journal.append import append
from runtime.journal.kinds import ActionStarted
from runtime.models import Event, Run, Tombstone
from runtime.runs import replay
from runtime.runs.reading import status
from tests.store.store_kit import a_run, claimed, sql, without_guards

pytestmark = pytest.mark.usefixtures("both")
EVENTS = "UPDATE runtime_event SET"
OF = "WHERE run = %s AND seq = %s"


def _long_run() -> str:
    """A run with eleven events."""
    claim = claimed()
    for n in range(4):
        events = [ActionStarted(action=f"a{n}", kind="verify") for _ in range(2)]
        append(claim.by(), events, task={"steps": n})
    return claim.run


@pytest.fixture
def run(both) -> str:
    """A run with eleven events, and no triggers left."""
    made = _long_run()
    without_guards()
    return made


def _insert(run: str, seq: int, prev: str = "p", digest: str = "h", payload: str = "{}") -> None:
    sql(
        "INSERT INTO runtime_event (run, seq, type, v, actor, at, payload, prev_hash, hash) "
        "VALUES (%s, %s, 'task.ready', 1, 'runtime', '2026-01-01T00:00:00.000000Z', %s, %s, %s)",
        run, seq, payload, prev, digest,
    )  # fmt: skip


def _forged(run: str, seq: int, prev: str) -> None:
    """An event whose own hash is right."""
    event = {
        "run": run, "seq": seq, "type": "task.ready", "v": 1, "task": None, "attempt": None,
        "fence": None, "actor": "runtime", "at": "2026-01-01T00:00:00.000000Z",
        "payload": {"why": "forged"},
    }  # fmt: skip
    text = json.dumps(event, sort_keys=True, separators=(",", ":"))
    digest = sha256((prev + text).encode()).hexdigest()
    _insert(run, seq, prev, digest, '{"why":"forged"}')


def _swap(run: str) -> None:
    sql(f"{EVENTS} seq = 1000 {OF}", run, 5)
    sql(f"{EVENTS} seq = 5 {OF}", run, 6)
    sql(f"{EVENTS} seq = 6 {OF}", run, 1000)


def _twice(run: str) -> None:
    """F40: the same event again, with everything behind it pushed back."""
    for seq in range(11, 5, -1):
        sql(f"{EVENTS} seq = seq + 1 {OF}", run, seq)
    one = read.read(run, 4, 1)[0]
    _insert(run, 6, one.prev_hash, one.hash, json.dumps(one.payload))


TAMPERED: dict[str, tuple[Callable[[str], Any], int]] = {
    "payload changed": (lambda run: sql(f"{EVENTS} payload = '{{}}' {OF}", run, 5), 5),
    "payload no JSON": (lambda run: sql(f"{EVENTS} payload = 'oops' {OF}", run, 5), 5),
    "payload no object": (lambda run: sql(f"{EVENTS} payload = '[]' {OF}", run, 5), 5),
    "payload padded": (lambda run: sql(f"{EVENTS} payload = payload || ' ' {OF}", run, 5), 5),
    "actor changed": (lambda run: sql(f"{EVENTS} actor = 'user:bob' {OF}", run, 5), 5),
    "time changed": (lambda run: sql(f"{EVENTS} at = 'never' {OF}", run, 5), 5),
    "type changed": (lambda run: sql(f"{EVENTS} type = 'task.ready' {OF}", run, 5), 5),
    "version changed": (lambda run: sql(f"{EVENTS} v = 2 {OF}", run, 5), 5),
    "fence changed": (lambda run: sql(f"{EVENTS} fence = 9 {OF}", run, 5), 5),
    "fence removed": (lambda run: sql(f"{EVENTS} fence = NULL {OF}", run, 5), 5),
    "attempt changed": (lambda run: sql(f"{EVENTS} attempt = 9 {OF}", run, 5), 5),
    "task changed": (lambda run: sql(f"{EVENTS} task = 'x' {OF}", run, 5), 5),
    "hash changed": (lambda run: sql(f"{EVENTS} hash = 'x' {OF}", run, 5), 5),
    "previous hash changed": (lambda run: sql(f"{EVENTS} prev_hash = 'x' {OF}", run, 5), 5),
    "first changed": (lambda run: sql(f"{EVENTS} payload = '{{}}' {OF}", run, 1), 1),
    "last changed": (lambda run: sql(f"{EVENTS} payload = '{{}}' {OF}", run, 11), 11),
    "moved to another run": (lambda run: sql(f"{EVENTS} run = 'other' {OF}", run, 5), 5),
    "removed": (lambda run: sql(f"DELETE FROM runtime_event {OF}", run, 5), 5),
    "first removed": (lambda run: sql(f"DELETE FROM runtime_event {OF}", run, 1), 1),
    "last removed": (lambda run: sql(f"DELETE FROM runtime_event {OF}", run, 11), 11),
    "end removed": (
        lambda run: sql("DELETE FROM runtime_event WHERE run = %s AND seq > 8", run),
        9,
    ),
    "all removed": (lambda run: sql("DELETE FROM runtime_event WHERE run = %s", run), 1),
    "removed and closed up": (
        lambda run: (
            [sql(f"DELETE FROM runtime_event {OF}", run, 5)]
            + [sql(f"{EVENTS} seq = seq - 1 {OF}", run, seq) for seq in range(6, 12)]
        ),
        5,
    ),
    "inserted before all": (lambda run: _insert(run, 0), 1),
    "inserted at the end": (lambda run: _insert(run, 12), 12),
    "forged at the end": (lambda run: _forged(run, 12, read.head(run)[1]), 12),
    "inserted far behind": (lambda run: _insert(run, 50), 12),
    "swapped": (_swap, 5),
    "twice": (_twice, 6),
    "head moved": (lambda run: Run.objects.filter(pk=run).update(event_seq=12), 12),
    "head hash changed": (lambda run: Run.objects.filter(pk=run).update(head_hash="x"), 11),
}


def _faults(run: str, tamper: Callable[[str], Any], first_bad: int) -> dict[str, Any]:
    """What is not as it must be after a chain was tampered with."""
    assert verify.verify(run)["ok"]
    tamper(run)
    found = verify.verify(run)
    wanted = {
        "found": (found["ok"], found["run"], found["first_bad"]) == (False, run, first_bad),
        "named": str(first_bad) in found["reason"],
        "triggers": "triggers are missing" in found["reason"],
        "loads": len(list(read.every(run))) == Event.objects.filter(run=run, seq__gt=0).count(),
        "status": status(run)["run"] == run,
        "listed": run in replay.runs(),
        "replayed": isinstance(replay.check(run), str),
    }
    return {name: found for name, fits in wanted.items() if not fits}


def test_X4_F40_the_first_bad_event_is_named_and_the_rest_still_loads():
    runs = {kind: _long_run() for kind in TAMPERED}
    without_guards()
    bad = {
        kind: faults
        for kind, (tamper, first_bad) in TAMPERED.items()
        if (faults := _faults(runs[kind], tamper, first_bad))
    }
    assert bad == {}


def test_a_chain_rewritten_from_the_middle_is_found_by_its_head(run):
    """Only one who can also rewrite the head is not found; that needs an anchor elsewhere."""
    sql("DELETE FROM runtime_event WHERE run = %s AND seq = 11", run)
    _forged(run, 11, read.last(run, 1)[0].hash)
    found = verify.verify(run)
    assert (found["ok"], found["first_bad"]) == (False, 11)


def test_a_run_whose_row_is_gone_cannot_hide_the_loss_of_its_end(run):
    Run.objects.filter(pk=run).delete()
    found = verify.verify(run)
    assert (found["ok"], found["first_bad"]) == (False, 12)
    assert "rebuild" in found["reason"]
    assert run in replay.runs()


def test_other_runs_are_not_concerned(run):
    other = a_run()
    sql(f"DELETE FROM runtime_event {OF}", run, 3)
    assert verify.verify(other.pk)["ok"]
    assert not verify.verify(run)["ok"]


def test_a_buried_run_is_whole_without_its_events(run):
    seq, head = read.head(run)
    Tombstone.objects.create(
        run=run, last_seq=seq, head_hash=head, actor="user:alice", reason="law", at="t"
    )
    Event.objects.filter(run=run).delete()
    Run.objects.filter(pk=run).delete()
    assert verify.verify(run)["ok"]


def test_an_unknown_run_is_no_whole_run():
    with pytest.raises(NotFound):
        verify.verify("nowhere")


# The exported file.


def _lines(run: str) -> list[str]:
    return list(verify.export(run))


def _edit(line: str, **changes: Any) -> str:
    return json.dumps({**json.loads(line), **changes})


def test_an_export_has_the_fields_of_the_journal_and_is_whole(run):
    lines = _lines(run)
    assert [json.loads(line) for line in lines] == [one.document() for one in read.every(run)]
    assert list(json.loads(lines[0])) == sorted(json.loads(lines[0]))
    assert json.loads(lines[0]).keys() == {
        "run",
        "seq",
        "type",
        "v",
        "task",
        "attempt",
        "fence",
        "actor",
        "at",
        "payload",
        "prev_hash",
        "hash",
    }
    whole = {"ok": True, "run": run, "first_bad": None, "reason": ""}
    assert verify.verify_lines(lines) == whole
    assert verify.verify_lines(["\n", *lines, "  \n"]) == whole
    assert verify.verify_lines(_edit(line) + "\n" for line in lines) == whole


CHANGED: list[tuple[Callable[[list[str]], list[str]], int]] = [
    (lambda lines: [*lines[:4], _edit(lines[4], payload={}), *lines[5:]], 5),
    (lambda lines: [*lines[:4], _edit(lines[4], actor="x"), *lines[5:]], 5),
    (lambda lines: [*lines[:4], _edit(lines[4], v="1"), *lines[5:]], 5),
    (lambda lines: [*lines[:4], _edit(lines[4], payload=[]), *lines[5:]], 5),
    (lambda lines: [*lines[:4], _edit(lines[4], fence=None), *lines[5:]], 5),
    (lambda lines: [*lines[:4], _edit(lines[4], run="other"), *lines[5:]], 5),
    (lambda lines: [*lines[:4], _edit(lines[4], seq="5"), *lines[5:]], 5),
    (lambda lines: [*lines[:-1], _edit(lines[-1], payload={})], 11),
    (lambda lines: [*lines[:-1], _edit(lines[-1], hash="0" * 64)], 11),
    (lambda lines: [*lines[:4], *lines[5:]], 5),
    (lambda lines: lines[1:], 1),
    (lambda lines: lines[:-1], 11),
    (lambda lines: lines[:3], 4),
    (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], 5),
    (lambda lines: [*lines[:5], lines[4], *lines[5:]], 6),
    (lambda lines: [*lines, lines[-1]], 12),
]


def test_X4_an_exported_chain_is_checked_like_the_stored_one(run):
    lines = _lines(run)
    for index, (tamper, first_bad) in enumerate(CHANGED):
        found = verify.verify_lines(tamper(lines))
        assert (found["ok"], found["first_bad"]) == (False, first_bad), index


def test_an_export_from_elsewhere_is_checked_without_its_database(run):
    lines = _lines(run)
    Event.objects.filter(run=run).delete()
    Run.objects.filter(pk=run).delete()
    whole, cut = verify.verify_lines(lines), verify.verify_lines(lines[:-1])
    assert verify.verify_lines(lines[1:])["first_bad"] == 1
    # Where the end is not known, that is said, with what can be compared.
    for found, last in ((whole, lines[-1]), (cut, lines[-2])):
        event = json.loads(last)
        assert found["ok"] and found.keys() == {"ok", "run", "first_bad", "reason"}
        assert f"nothing here tells whether event {event['seq']} is the last" in found["reason"]
        assert verify.ending(event["seq"], event["hash"]) in found["reason"]


def test_an_export_of_a_buried_run_is_compared_with_its_tombstone(run):
    lines = _lines(run)
    seq, head = read.head(run)
    Tombstone.objects.create(
        run=run, last_seq=seq, head_hash=head, actor="user:alice", reason="law", at="t"
    )
    Event.objects.filter(run=run).delete()
    Run.objects.filter(pk=run).delete()
    assert verify.verify_lines(lines) == {"ok": True, "run": run, "first_bad": None, "reason": ""}
    assert verify.verify_lines(lines[:-1])["first_bad"] == seq


def test_a_file_that_is_no_export_is_refused_with_the_line():
    for line in ("oops", "[]", "{}", '{"run": 1}', "\udcff"):
        with pytest.raises(BadInput, match="Line 2"):
            verify.verify_lines(["", line])


def test_a_line_with_a_number_that_no_event_holds_is_refused(run):
    with pytest.raises(BadInput, match="Line 1"):
        verify.verify_lines([_edit(_lines(run)[0], payload={"a": 1.5})])
    with pytest.raises(BadInput, match="no event"):
        verify.verify_lines([])
    assert verify.verify_lines([_edit(_lines(run)[0], run="é")])["ok"] is False
    assert verify.verify_lines([_edit(_lines(run)[0], actor=1.5)])["ok"] is False
