"""What the tests of the agent loop say in one word."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections

from runtime import approvals, blobs, runs
from runtime.models import Approval, Event, Task, User
from runtime.workspaces.space import RunSpace
from tests.kit import Told


def tool(program: str, *args: str, **more: Any) -> dict[str, Any]:
    """A program with arguments."""
    return {"kind": "run_tool", "program": program, "args": list(args), **more}


def shell(script: str, **more: Any) -> dict[str, Any]:
    """A shell script."""
    return {"kind": "run_shell", "script": script, **more}


def write(path: str, content: str) -> dict[str, Any]:
    """A file made or replaced."""
    return {"kind": "write_file", "path": path, "content": content}


def change(path: str, expected: str, replacement: str) -> dict[str, Any]:
    """A text replaced."""
    return {
        "kind": "replace_text",
        "path": path,
        "expected": expected,
        "replacement": replacement,
    }


def seen(told: Told) -> list[str]:
    """What the model saw of each action in order, also where that lies in an artifact."""
    return [plain(value) for value in told.observations()]


def plain(value: Any) -> str:
    """A text of an event, also where it was moved out."""
    return blobs.get(value["artifact"]).decode() if isinstance(value, dict) else value


def answer(told: Told, by: User, verdict: str = "approve", **more: Any) -> Approval:
    """Answer the open question."""
    return approvals.decide(told.pending.pk, by=by, verdict=verdict, **more)


def task(told: Told) -> Task:
    """The run's only task as it stands now."""
    return Task.objects.get(run=told.run)


def space(told: Told) -> RunSpace:
    """The files of the run."""
    folder = settings.M31A.DATA_DIR / "runs" / told.run.pk
    workspace = told.run.workspace
    assert workspace is not None
    return RunSpace(folder, workspace, told.run.uid, etc=settings.M31A.DATA_DIR / "etc")


def tree(told: Told) -> Path:
    """The run's worktree."""
    return space(told).tree


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


def happened(told: Told, type_: str) -> bool:
    """Whether the run has such an event."""
    return Event.objects.filter(run=told.run.pk, type=type_).exists()


def holds(path: Path, text: str) -> bool:
    """Whether a file is there, and written."""
    return path.exists() and path.read_text() == text


class Meanwhile:
    """Does something in another thread as soon as the run has a certain event."""

    def __init__(self, told: Told, type_: str, act: Callable[[], Any]) -> None:
        self.at = 0.0
        """When it was done, in monotonic seconds."""
        self._told, self._type, self._act = told, type_, act
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            wait_for(lambda: happened(self._told, self._type))
            self.at = time.monotonic()
            self._act()
        except BaseException as error:  # noqa: BLE001  (it is raised where the test sees it)
            self._failed = error
        finally:
            connections.close_all()

    def __enter__(self) -> Meanwhile:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        if self._failed is not None:
            raise self._failed


def cancel_at(told: Told, type_: str, by: User) -> Meanwhile:
    """Cancel the run as soon as it has such an event."""
    return Meanwhile(told, type_, lambda: runs.cancel(told.run.pk, by))
