"""The power fails: SQLite's log ends in the middle of a commit. What was committed before is whole."""

from __future__ import annotations

import random
from pathlib import Path

from django.db import connection

from runtime.journal import verify
from runtime.journal.append import append
from runtime.journal.kinds import ActionStarted
from runtime.models import Run
from runtime.runs import replay
from tests import databases
from tests.store.store_kit import a_run, claimed

CUTS = 24


def test_X3_a_log_that_is_cut_anywhere_opens_and_holds_a_prefix(site, tmp_path: Path):
    claim = claimed(a_run())
    sizes = []
    live = Path(str(connection.settings_dict["NAME"]))
    wal = live.with_name(live.name + "-wal")
    for number in range(12):
        event = ActionStarted(action=f"a{number}", kind="verify")
        append(claim.by(), [event], task={"fence": claim.fence})
        sizes.append((wal.stat().st_size, Run.objects.get(pk=claim.run).event_seq))
    copy = tmp_path / "cut.sqlite3"
    frozen = {name: Path(f"{live}{name}").read_bytes() for name in ("", "-wal")}
    chance = random.Random(31)
    total = len(frozen["-wal"])
    cuts = {total, sizes[3][0], sizes[3][0] - 1, *(chance.randrange(total) for _ in range(CUTS))}
    for cut in sorted(cuts):
        copy.write_bytes(frozen[""])
        Path(f"{copy}-wal").write_bytes(frozen["-wal"][:cut])
        Path(f"{copy}-shm").unlink(missing_ok=True)
        databases.use({**databases.CONFIG, "NAME": str(copy)})
        with connection.cursor() as cursor:
            assert cursor.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        known = max((seq for size, seq in sizes if size <= cut), default=0)
        run = Run.objects.filter(pk=claim.run).first()
        if run is None:
            assert known == 0
        else:
            assert run.event_seq >= known, "nothing acknowledged is missing"
            assert verify.verify(claim.run)["ok"]
            assert replay.check(claim.run) == ""
        connection.close()


def test_every_commit_is_on_the_disk_before_it_is_acknowledged(site):
    with connection.cursor() as cursor:
        mode = cursor.execute("PRAGMA journal_mode").fetchone()[0]
        synchronous = cursor.execute("PRAGMA synchronous").fetchone()[0]
    assert (mode, synchronous) == ("wal", 2)
