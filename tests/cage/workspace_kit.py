"""A registered directory, a run's files made of it, and its cage: for pytest and plain scripts."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from runtime.core.actions import WriteFile
from runtime.core.commands import Shell
from runtime.policy.authorised import by_gate
from runtime.sandbox import Cage, Result, pick_uid
from runtime.workspaces import Checkpoint, RunSpace

RUN = "01hzzzzzzzzzzzzzzzzzzzzzzz"
BRANCH = f"refs/heads/m31a/{RUN}"
PERSON = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "Alice", "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "Alice", "GIT_COMMITTER_EMAIL": "a@example.org",
}  # fmt: skip


@dataclass
class Values:
    """A workspace without a database."""

    root: str
    is_git: bool = True
    environments: list[str] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)
    sandbox: str = ""


class Site:
    """The operator's directory `root`, and room for the server's data beside it. `close` it."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="m31a-site-"))
        self.root = self.base / "project"
        self.root.mkdir()
        self.uid = pick_uid(())
        self.space: RunSpace | None = None
        self._cage: Cage | None = None

    def git(self, *args: str, cwd: Path | None = None) -> str:
        """The operator's own git."""
        done = subprocess.run(
            ["git", *args], cwd=cwd or self.root, env=os.environ | PERSON, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    def write(self, path: str, text: str) -> Path:
        """A file of the operator's directory."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def commit(self) -> str:
        """Everything in the operator's directory as a commit of its repository."""
        if not (self.root / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a commit")
        return self.git("rev-parse", "HEAD")

    def start(self, *, is_git: bool = True, environments: tuple[str, ...] = ()) -> str:
        """Make and populate the run's files; the base commit."""
        base = self.make(is_git=is_git, environments=environments)
        self.files.populate(self.cage, base)
        return base

    def make(self, *, is_git: bool = True, environments: tuple[str, ...] = ()) -> str:
        """Make the run's files without a worktree; the base commit."""
        values = Values(str(self.root), is_git, list(environments))
        self.space = RunSpace(
            self.base / "data" / "runs" / RUN, values, self.uid, etc=self.base / "data" / "etc"
        )
        base, self.uncommitted, self.left_out = self.space.create(RUN)
        return base

    @property
    def files(self) -> RunSpace:
        """The run's files."""
        assert self.space is not None
        return self.space

    @property
    def cage(self) -> Cage:
        """The cage of the run."""
        if self._cage is None:
            self._cage = Cage(self.files.spec("test"))
        return self._cage

    def sh(self, script: str) -> Result:
        """A script as the model would have it run."""
        return self.cage.run(by_gate(Shell(script), "action"))

    def edit(self, path: str, text: str, parent: str) -> Checkpoint | None:
        """An edit by our own editor, and the tree that it makes."""
        action = WriteFile(kind="write_file", path=path, content=text)
        edit = self.files.editor().write(by_gate(action, "action"))
        return self.files.quick_checkpoint(parent, [(edit.path, edit.after, edit.mode)])

    def take(self, parent: str, *left_out: str) -> Checkpoint:
        """A checkpoint by caged git."""
        return self.files.checkpoint(self.cage, parent, "test", left_out=left_out)

    def close(self) -> None:
        """End the cage and remove everything."""
        if self._cage is not None:
            self._cage.close()
        if self.space is not None:
            self.space.remove()
        shutil.rmtree(self.base)


def small_site() -> Site:
    """A repository with two modules, a script and a link."""
    made = Site()
    made.write("src/a.py", "a = 1\n")
    made.write("src/b.py", "b = 1\n")
    made.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    os.symlink("src/a.py", made.root / "link")
    made.commit()
    return made


def state_of(folder: Path) -> str:
    """A hash of everything below a directory: names, kinds, modes, times and contents."""
    digest = hashlib.sha256()
    for where, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = os.path.join(where, name)
            about = os.lstat(path)
            row = (path, about.st_mode, about.st_uid, about.st_size, about.st_mtime_ns,
                   about.st_ctime_ns, about.st_nlink)  # fmt: skip
            digest.update(repr(row).encode())
            if stat.S_ISREG(about.st_mode):
                digest.update(Path(path).read_bytes())
    return digest.hexdigest()
