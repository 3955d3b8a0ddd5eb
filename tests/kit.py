"""What tests arrange in few lines: people, repositories, runs by a script."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from runtime import runs
from runtime.journal.read import every
from runtime.journal.rows import EventRow
from runtime.models import Approval, Run, User, Workspace
from runtime.people import service
from runtime.worker import inline
from tests import surroundings

GIT = (
    "git",
    "-c",
    "user.name=Test",
    "-c",
    "user.email=test@localhost",
    "-c",
    "commit.gpgsign=false",
)


class Cast:
    """The people of every test."""

    @cached_property
    def alice(self) -> User:
        """Submits, and runs the site."""
        return service.add("alice", ["submitter", "admin"], by=None)

    @cached_property
    def bob(self) -> User:
        """Reviews."""
        return service.add("bob", ["reviewer"], by=None)

    @cached_property
    def sol(self) -> User:
        """The security officer."""
        return service.add("sol", ["security"], by=None)

    @cached_property
    def mallory(self) -> User:
        """Has no role at all."""
        return User.objects.create_user("mallory")


def repository(files: dict[str, str] | None = None) -> Path:
    """A git repository with one commit, in a temporary folder."""
    root = Path(surroundings.folder("m31a-repo-")) / "project"
    if files is None:
        return Path(shutil.copytree(_usual(), root))
    return _committed(root, files)


@cache
def _usual() -> Path:
    root = Path(surroundings.folder("m31a-usual-")) / "project"
    return _committed(root, {"notes.txt": "first line\nsecond line\n"})


def _committed(root: Path, files: dict[str, str]) -> Path:
    root.mkdir()
    git(root, "init", "-q", "--template=", "-b", "main")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    return root


def git(root: Path, *words: str) -> str:
    """Git in a repository of the test's own."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        [*GIT, *words], cwd=root, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def with_remote(root: Path) -> Path:
    """Give a repository a bare one beside it as `origin`; the bare one."""
    bare = root.parent / "origin.git"
    git(root, "init", "-q", "--template=", "--bare", str(bare))
    git(root, "remote", "add", "origin", str(bare))
    return bare


def workspace(
    by: User,
    root: Path | None = None,
    name: str = "work",
    verify: tuple[str, ...] = ("true",),
    **more: Any,
) -> Workspace:
    """Register a directory (default: a new repository)."""
    return runs.register_workspace(name, str(root or repository()), by=by, verify=verify, **more)


@dataclass
class Told:
    """A run as its record tells it."""

    run: Run

    @property
    def events(self) -> list[EventRow]:
        """All events, in order."""
        return list(every(self.run.pk))

    @property
    def types(self) -> list[str]:
        """The types of all events, in order."""
        return [event.type for event in self.events]

    def of(self, type_: str) -> list[dict[str, Any]]:
        """The payloads of one type."""
        return [event.payload for event in self.events if event.type == type_]

    def last(self, type_: str) -> dict[str, Any]:
        """The payload of the last event of a type."""
        return self.of(type_)[-1]

    @property
    def state(self) -> str:
        """The run's state now."""
        return Run.objects.values_list("state", flat=True).get(pk=self.run.pk)

    @property
    def reason(self) -> str:
        """Why it ended, if it says so."""
        return Run.objects.values_list("reason", flat=True).get(pk=self.run.pk)

    @property
    def pending(self) -> Approval:
        """The one question that is open."""
        return Approval.objects.get(run=self.run, state="pending")

    def observations(self) -> list[str]:
        """What the model saw of each action, refusals included."""
        seen = []
        for event in self.events:
            if event.type == "action.completed":
                seen.append(event.payload["observation"])
            elif event.type in {"action.refused", "finish.refused", "answer.refused"}:
                seen.append(event.payload["reason"])
        return seen

    def work(self) -> Told:
        """Let a worker go on until nothing can be done."""
        inline.work(until_idle=True)
        return self


def submit(by: User, steps: list[dict[str, Any]], workspace: str = "work", **more: Any) -> Told:
    """Submit a run whose model follows the steps. Nothing is worked on yet."""
    script = "".join(json.dumps(step) + "\n" for step in steps).encode()
    wish = runs.Submission(
        workspace=workspace,
        objective=more.pop("objective", "Do what the script says."),
        by=by,
        provider="scripted:test",
        script=script,
        **more,
    )
    return Told(runs.submit(wish).run)


def play(by: User, steps: list[dict[str, Any]], workspace: str = "work", **more: Any) -> Told:
    """Submit a run and work on it until nothing can be done."""
    return submit(by, steps, workspace, **more).work()


def rule(decision: str, text: str, name: str = "r") -> str:
    """A rule of a policy file."""
    return f'[[rule]]\nid = "{name}"\ndecision = "{decision}"\n{text}\n'


FINISH = {"kind": "finish", "summary": "done"}
VERIFY = {"kind": "verify"}
EDIT = {"kind": "write_file", "path": "notes.txt", "content": "changed\n"}
