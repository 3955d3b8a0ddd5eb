"""What an earlier supervisor started and did not stop: found by pid and start, and ended."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from runtime.tasks.incarnation import start_ticks

log = logging.getLogger(__name__)

GRACE_SECONDS = 2.0


def path(folder: Path) -> Path:
    return folder / "children.json"


def record(folder: Path, pids: Iterable[int]) -> None:
    """Write down the children of this supervisor, in one step."""
    rows = [{"pid": pid, "started": start_ticks(pid)} for pid in pids]
    temporary = path(folder).with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(rows), encoding="ascii")
    temporary.replace(path(folder))


def forget(folder: Path) -> None:
    """All children have ended."""
    path(folder).unlink(missing_ok=True)


def reap(folder: Path) -> int:
    """End the recorded processes that still live, with all that they started. Returns how many."""
    try:
        rows = json.loads(path(folder).read_text(encoding="ascii"))
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read (%s); leftovers were not looked for.", path(folder), error)
        return 0
    found: list[psutil.Process] = []
    for row in rows:
        pid, started = row.get("pid"), row.get("started")
        if isinstance(pid, int) and started is not None and start_ticks(pid) == started:
            found += tree(pid)
    end(found, GRACE_SECONDS)
    forget(folder)
    return len(found)


def tree(pid: int) -> list[psutil.Process]:
    """A process and its descendants; empty when it is gone."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def end(processes: list[psutil.Process], grace: float) -> None:
    """SIGTERM, then after `grace` seconds SIGKILL for what is left."""
    for process in processes:
        _send(process.terminate)
    _, alive = psutil.wait_procs(processes, timeout=grace)
    for process in alive:
        _send(process.kill)
    psutil.wait_procs(alive, timeout=1)


def _send(signal_process: Callable[[], None]) -> None:
    try:
        signal_process()
    except psutil.NoSuchProcess:
        return
    except psutil.AccessDenied:
        log.warning("A leftover process belongs to another account and was left alone.")
