"""What a process that was killed left behind, and what has had its time: found and removed.

Everything here is decided by rows and by age, never by memory, so that any process may do it, at
any time, and twice. What is young is left alone: its row may still be on its way.
"""

from __future__ import annotations

import logging
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.utils import timezone

from runtime.core import ids
from runtime.core.errors import NotFound
from runtime.journal import deltas, hint, unfinished
from runtime.journal.append import now
from runtime.journal.book import open_run
from runtime.models import Delta, Event, Run, SealedBytes, Task, Workspace
from runtime.workflow.states import LEASED, RUN_TERMINAL, TERMINAL
from runtime.workspaces import worktree

log = logging.getLogger(__name__)

UNCLAIMED_SECONDS = 24 * 3600
"""How old files without a row must be before they go."""
TEMPORARY_SECONDS = 7 * 24 * 3600
"""How old a folder of ours in the system's temporary folder must be: a cage may live in it."""
TEMPORARY = ("m31a-cage-", "m31a-etc-", "m31a-lookup-", "m31a-sandbox-", "m31a-selftest-",
             "m31a-vendor-")  # fmt: skip
PAGE = 200
_GONE = ".gone-"
"""A worktree on its way out; whoever is killed meanwhile leaves it under this name."""
_EMPTIED, _DROPPED = ("tree", "scratch"), ("staging", "fresh")
"""Folders of a run that whoever works on it expects to be there, and those that are made on demand."""
MOST_ROWS = 5000
_ACTION_ENDS = ("action.completed", "action.refused", "action.outcome_unknown")


class Collected(NamedTuple):
    """How many of each sort went."""

    runs: int = 0
    worktrees: int = 0
    sealed: int = 0
    previews: int = 0
    temporary: int = 0


def collect(at: float | None = None) -> Collected:
    """One whole walk, as of a moment (seconds since the epoch; now, where none is given)."""
    moment = time.time() if at is None else at
    hint.wake(ids.SYSTEM_RUN)  # the sockets of dead listeners refuse it, and go
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    return Collected(
        runs=sum(_unclaimed(page, moment) for page in _pages()),
        worktrees=sum(_outlived(page, moment) for page in _pages()),
        sealed=_sealed(),
        previews=_previews(),
        temporary=_temporary(),
    )


def _folder() -> Path:
    folder: Path = settings.M31A.DATA_DIR / "runs"
    return folder


def _pages() -> Iterator[list[str]]:
    """Names of the folders of runs, a page at a time."""
    names = sorted(os.listdir(_folder())) if _folder().is_dir() else []
    for start in range(0, len(names), PAGE):
        yield names[start : start + PAGE]


def _unclaimed(names: list[str], moment: float) -> int:
    """Files of runs that there are not: their submission was killed, or they were removed."""
    known = set(Run.objects.filter(pk__in=names).values_list("pk", flat=True))
    old = [name for name in names if name not in known]
    return sum(_remove(_folder() / name, moment - UNCLAIMED_SECONDS) for name in old)


def _remove(path: Path, before: float) -> bool:
    """Remove what was last touched before a moment. What cannot be removed is said, and stays."""
    try:
        if path.lstat().st_mtime >= before:
            return False
        worktree.remove(path)
    except OSError as error:
        log.warning("%s is left over and could not be removed: %s", path, error)
        return False
    return True


def _outlived(names: list[str], moment: float) -> int:
    """Worktrees of runs that ended long ago. Trees, commits and artifacts stay, so that they are
    shown, applied and, where they failed, tried again as before."""
    keep = timedelta(days=settings.M31A.WORKTREE_DAYS)
    ended = now() - timedelta(seconds=time.time() - moment)
    none = Q(workspace__retention=Workspace.Retention.NONE, ended_at__lt=ended)
    rows = Run.objects.filter(none | Q(ended_at__lt=ended - keep), pk__in=names)
    rows = rows.filter(state__in=RUN_TERMINAL)
    return sum(_empty(run) for run in list(rows.values_list("pk", flat=True)))


def _empty(run: str) -> bool:
    folder = _folder() / run
    try:
        filled = (folder / "tree").is_dir() and any((folder / "tree").iterdir())
        emptied = filled and _swap(run, folder)
        left = [path for path in folder.iterdir() if path.name.startswith(_GONE)]
        for path in left:
            worktree.remove(path)
    except OSError as error:
        log.warning("The worktree of run %s could not be removed: %s", run, error)
        return False
    return emptied


def _swap(run: str, folder: Path) -> bool:
    """Put empty folders in the place of the full ones while nobody can begin to work in them."""
    try:
        with open_run(run, skip_locked=True) as book:
            if book.run.state not in RUN_TERMINAL:
                return False
            for name in (*_EMPTIED, *_DROPPED):
                _put_aside(folder, name)
            return True
    except NotFound:
        return False  # somebody is just writing to it


def _put_aside(folder: Path, name: str) -> None:
    path = folder / name
    try:
        about = path.lstat()
    except FileNotFoundError:
        return
    path.rename(folder / f"{_GONE}{name}-{secrets.token_hex(4)}")
    if name in _EMPTIED:
        path.mkdir()
        os.chown(path, about.st_uid, about.st_gid)
        path.chmod(stat.S_IMODE(about.st_mode))


def _sealed() -> int:
    """Raw actions that have ended, or whose task has."""
    rows = SealedBytes.objects.values_list("action", "run").order_by("action")
    over = [action for action, run in list(rows[:MOST_ROWS]) if _is_over(run, action)]
    return SealedBytes.objects.filter(action__in=over).delete()[0] if over else 0


def _is_over(run: str, action: str) -> bool:
    task = Task.objects.filter(pk=action.rpartition(".")[0], run=run)
    if not task.exclude(state__in=TERMINAL).exists():
        return True
    ends = Event.objects.filter(run=run, type__in=_ACTION_ENDS)
    return ends.filter(payload__contains=f'"action":"{action}"').exists()


def _previews() -> int:
    """What a model was saying, where the message is in the record or its task is nobody's."""
    spoken = Delta.objects.values_list("run", "task", "message").distinct().order_by("run")
    gone = 0
    for run, task, message in list(spoken[:MOST_ROWS]):
        held = Task.objects.filter(pk=task, run=run, state__in=LEASED).exists()
        if not held or unfinished.ended(run, message):
            deltas.remove(run, message=message)
            gone += 1
    return gone


def _is_ours(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder that this account made for runs; not where it just vanished."""
    if not entry.name.startswith(TEMPORARY):
        return False
    try:
        folder = entry.is_dir(follow_symlinks=False)
        return folder and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except FileNotFoundError:
        return False


def _temporary() -> int:
    """Folders of ours in the system's temporary folder, which other data folders use as well."""
    with os.scandir(tempfile.gettempdir()) as entries:
        mine = [Path(entry.path) for entry in entries if _is_ours(entry)]
    return sum(_remove(path, time.time() - TEMPORARY_SECONDS) for path in mine)
