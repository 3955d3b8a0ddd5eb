"""Anchors: signed notes, outside the database, of where each chain stood.

A hash chain shows a change by anybody who cannot rewrite its tail. Whoever can rewrite the
whole database still cannot forge an anchor: its key and a copy of it lie in files.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import F, Q

from runtime.core import canonical, clock
from runtime.models import Event, Run
from runtime.secrets import key
from runtime.workflow.states import RUN_TERMINAL

from .append import now
from .book import open_system
from .kinds import AnchorMade

MAX_HEADS = 500
"""Chains that one anchor vouches for; more are anchored in the next pass."""
EVERY = timedelta(hours=1)


def due(*, hourly: bool) -> list[tuple[str, int, str]]:
    """Chains that have moved since their last anchor: of ended runs, or of all of them."""
    moved = Q(anchored_seq__lt=F("event_seq"))
    ended = Q(state__in=[str(state) for state in RUN_TERMINAL])
    rows = Run.objects.filter(moved if hourly else moved & ended).exclude(pk="system")
    heads = rows.order_by("id").values_list("id", "event_seq", "head_hash")
    return list(heads[:MAX_HEADS])


def make() -> int:
    """Anchor what is due; how many chains. Ended runs at once, all others once an hour."""
    heads = due(hourly=_hour_is_over())
    if not heads:
        return 0
    listed = [list(head) for head in heads]
    signature = sign(listed)
    _note({"at": clock.stamp(now()), "heads": listed, "signature": signature})
    with open_system() as book:
        book.append(AnchorMade(heads=listed, signature=signature), actor="reconciler")
        for run, seq, _ in heads:
            Run.objects.filter(pk=run, anchored_seq__lt=seq).update(anchored_seq=seq)
    return len(heads)


def _hour_is_over() -> bool:
    last = Event.objects.filter(run="system", type=AnchorMade.type).order_by("-seq").first()
    return last is None or last.at < clock.stamp(now() - EVERY)


def sign(heads: list[list[Any]]) -> str:
    """Hex HMAC-SHA256 of the canonical JSON of heads."""
    return hmac.new(_key(), canonical.encode(heads), hashlib.sha256).hexdigest()


def _key() -> bytes:
    return key("anchor", lambda: secrets.token_bytes(32))


def _path() -> Path:
    folder: Path = settings.M31A.DATA_DIR
    return folder / "anchors.ndjson"


def _note(anchor: dict[str, Any]) -> None:
    """Append to the file, durably, before the database says that it is done."""
    line = canonical.encode(anchor) + b"\n"
    handle = os.open(_path(), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, line)
        os.fsync(handle)
    finally:
        os.close(handle)


def known(run: str) -> Iterator[tuple[int, str]]:
    """Number and hash that well-signed anchors give for a run, oldest first.

    A line that is torn or badly signed vouches for nothing.
    """
    mention = f'"{run}"'
    try:
        with _path().open(encoding="utf-8") as lines:
            for line in lines:
                if mention in line:
                    yield from _heads_of(line, run)
    except FileNotFoundError:
        return


def _heads_of(line: str, run: str) -> Iterator[tuple[int, str]]:
    try:
        anchor = canonical.decode(line)
        heads, signature = anchor["heads"], anchor["signature"]
        good = hmac.compare_digest(sign(heads), signature)
    except (ValueError, KeyError, TypeError):
        return
    if good:
        yield from ((seq, digest) for name, seq, digest in heads if name == run)
