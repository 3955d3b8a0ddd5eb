"""Anchors: whoever rewrites the whole database is still found out."""

from __future__ import annotations

from django.conf import settings
from django.db import connection

from runtime.core import digests
from runtime.journal import anchors, chain, read, verify
from runtime.models import Run
from tests.kit import FINISH, play, workspace


def _rewrite(run: str, seq: int) -> None:
    """What an intruder does who owns the database: change an event and mend the chain."""
    rows = read.read(run)
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER m31a_event_update")
        head = rows[seq - 1].prev_hash
        for row in rows[seq - 1 :]:
            actor = "user:mallory" if row.seq == seq else row.actor
            by = chain.By(run, row.task, row.attempt, row.fence, actor)
            payload = _text(cursor, run, row.seq)
            body = chain.body(by, row.at, row.seq, chain.Draft(row.type, row.v, payload))
            digest = digests.link(head, body)
            cursor.execute(
                "UPDATE runtime_event SET actor=%s, prev_hash=%s, hash=%s WHERE run=%s AND seq=%s",
                [actor, head, digest, run, row.seq],
            )
            head = digest
    Run.objects.filter(pk=run).update(head_hash=head)


def _text(cursor, run: str, seq: int) -> str:  # type: ignore[no-untyped-def]
    cursor.execute("SELECT payload FROM runtime_event WHERE run=%s AND seq=%s", [run, seq])
    return str(cursor.fetchone()[0])


def test_a_whole_chain_rewritten_is_found_by_the_anchor_at_the_runs_end(cast):
    workspace(cast.alice)
    run = play(cast.alice, [FINISH]).run.pk
    anchors.make()
    assert verify.verify(run)["ok"]
    _rewrite(run, 3)
    found = verify.verify(run)
    assert not found["ok"]
    assert "signed anchor" in found["reason"]


def test_a_chain_cut_short_with_its_head_is_found(cast):
    workspace(cast.alice)
    run = play(cast.alice, [FINISH]).run.pk
    anchors.make()
    *_, before, last = read.read(run)
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER m31a_event_delete")
        cursor.execute("DELETE FROM runtime_event WHERE run=%s AND seq=%s", [run, last.seq])
    Run.objects.filter(pk=run).update(event_seq=before.seq, head_hash=before.hash)
    assert verify.verify(run)["first_bad"] == last.seq
    found = verify.verify_lines(verify.export(run))
    assert (found["ok"], found["first_bad"]) == (False, last.seq)
    assert f"a signed anchor vouches for {last.seq} events" in found["reason"]


def test_an_export_of_a_rewritten_chain_is_found_by_the_anchor(cast):
    workspace(cast.alice)
    run = play(cast.alice, [FINISH]).run.pk
    anchors.make()
    assert verify.verify_lines(verify.export(run))["ok"]
    _rewrite(run, 3)
    found = verify.verify_lines(verify.export(run))
    assert not found["ok"] and "signed anchor" in found["reason"]


def test_a_run_of_which_nothing_is_left_is_missed_by_the_anchor(cast):
    workspace(cast.alice)
    run = play(cast.alice, [FINISH]).run.pk
    anchors.make()
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER m31a_event_delete")
        cursor.execute("DELETE FROM runtime_event WHERE run=%s", [run])
    Run.objects.filter(pk=run).update(event_seq=0, head_hash=digests.first_head(run))
    assert verify.verify(run)["first_bad"] == 1


def test_a_forged_anchor_vouches_for_nothing(cast):
    workspace(cast.alice)
    run = play(cast.alice, [FINISH]).run.pk
    path = settings.M31A.DATA_DIR / "anchors.ndjson"
    with path.open("a") as file:
        file.write(f'{{"at":"x","heads":[["{run}",1,"{"0" * 64}"]],"signature":"forged"}}\n')
        file.write(f'{{"heads":[["{run}",1')
    assert list(anchors.known(run)) == [] or verify.verify(run)["ok"]
    assert verify.verify(run)["ok"]


def test_an_ended_run_is_anchored_once_and_a_living_one_after_an_hour(cast):
    workspace(cast.alice)
    run = play(cast.alice, [FINISH]).run.pk
    anchors.make()
    assert Run.objects.get(pk=run).anchored_seq == read.head(run)[0]
    assert anchors.make() == 0
