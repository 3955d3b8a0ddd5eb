"""A cage to try things in, for pytest and for a plain script alike."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runtime.core.commands import Exec, Shell
from runtime.policy.authorised import by_operator
from runtime.sandbox import (
    Cage,
    CageSpec,
    Limits,
    Mount,
    Result,
    base_etc,
    find_toolchains,
    pick_uid,
)

ROOT = "/home/alice/project"
SECRET = "canary-7f3a9d-canary"
PLANTED = {
    "M31A_CANARY": SECRET, "AWS_SECRET_ACCESS_KEY": SECRET, "DJANGO_SECRET_KEY": SECRET,
    "OPENAI_API_KEY": SECRET, "DATABASE_URL": f"postgres://u:{SECRET}@h/d", "DB_PASSWORD": SECRET,
    "PYTHONPATH": f"/{SECRET}", "NODE_OPTIONS": f"--{SECRET}", "BASH_ENV": f"/{SECRET}",
    "SSH_AUTH_SOCK": f"/{SECRET}", "GIT_DIR": f"/{SECRET}", "GITHUB_TOKEN": SECRET,
}  # fmt: skip


class Hall:
    """A cage, its worktree on the host (`tree`), and things of the host it must not reach."""

    def __init__(self) -> None:
        self.base = tempfile.mkdtemp(prefix="m31a-hall-")  # 0700: nobody passes through it
        self.tree, self.etc = f"{self.base}/tree", f"{self.base}/etc"
        self.outside = f"{self.base}/outside"
        self.uid = pick_uid(set())
        for folder in (self.tree, self.outside):
            os.mkdir(folder)
        base_etc(self.etc)
        if self.uid is not None:
            os.chown(self.tree, self.uid, self.uid)
        self.secret = f"{self.outside}/secret.txt"
        with open(self.secret, "w", encoding="ascii") as file:
            file.write(SECRET)
        self.cage = Cage(self.spec())

    def spec(self, limits: Limits | None = None, label: str = "hall", *mounts: Mount) -> CageSpec:
        tools = find_toolchains()
        return CageSpec(
            root=ROOT,
            mounts=(
                Mount(self.tree, ROOT, writable=True),
                Mount(self.etc, "/etc"),
                *[Mount(tool.source, tool.target) for tool in tools],
                *mounts,
            ),
            path=tuple(tool.bin for tool in tools),
            uid=self.uid,
            limits=limits or Limits(),
            label=label,
        )

    def sh(self, script: str, **options: object) -> Result:
        """A script in the shared cage."""
        return self.cage.run(by_operator(Shell(script), "test"), **options)  # type: ignore[arg-type]

    def run(self, program: str, *args: str, **options: object) -> Result:
        """A program in the shared cage."""
        return self.cage.run(by_operator(Exec(program, args), "test"), **options)  # type: ignore[arg-type]

    def python(self, code: str, **options: object) -> Result:
        """A piece of Python in the shared cage."""
        return self.run("python3", "-I", "-c", code, **options)

    def close(self) -> None:
        self.cage.close()
        shutil.rmtree(self.base, ignore_errors=True)


@contextmanager
def planted() -> Iterator[None]:
    """The environment of a careless server, for a while."""
    before = dict(os.environ)
    os.environ.update(PLANTED)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def tag() -> str:
    """A number of seconds that nobody else sleeps: marks a process for `alive`."""
    return f"3600.{uuid.uuid4().int % 10**12}"


def alive(mark: str) -> list[int]:
    """Processes of this machine with `mark` in their command line."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read()
                with open(f"/proc/{name}/stat", "rb") as file:
                    state = file.read().rpartition(b")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in line and state != b"Z":
                found.append(int(name))
    return found


def until(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    """Whether a condition comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())  # it may have stood still meanwhile
