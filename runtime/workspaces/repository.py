"""The git directory of one run: owned by the server, outside the worktree.

Git on the host gets this directory alone: it knows no worktree, runs no hook and opens no
connection (`push` is apart). Everything that looks at a worktree is in `caged`.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

from runtime.core.commands import Exec
from runtime.core.errors import BadInput, Refused, Unavailable
from runtime.policy.authorised import by_runtime
from runtime.sandbox.host import run_host
from runtime.sandbox.spec import HostResult

from .objects import Objects, put

CHECKPOINT_REF = "refs/m31a/checkpoint"
_SECONDS = 60.0
_CLONE_SECONDS = 600.0
_FIXED = (
    "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
    "-c", "core.fsmonitor=false", "-c", "protocol.allow=never",
)  # fmt: skip
_ID = re.compile(r"[0-9a-f]{40}")
_MAX_UNPACKED = 100
_MAX_DIFF = 8 << 20
# The tree is the worktree's bytes: no line ends, keywords or encodings are changed.
_ATTRIBUTES = "* -text -ident -working-tree-encoding\n"
# Appended: the last value counts. `bare` is false so that commands find a worktree; we say --bare.
_CONFIG = """
[core]
\tbare = false
\tcompression = 1
\tlogAllRefUpdates = false
[gc]
\tauto = 0
"""
_TRUST = "[safe]\n\tdirectory = *\n[core]\n\tfsmonitor = false\n"


class Repository:
    """`path` is the git directory. Every method raises `Unavailable` where git fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._objects: Objects | None = None

    @property
    def objects(self) -> Objects:
        """Its objects, read and written without a process."""
        if self._objects is None:
            self._objects = Objects(self.path)
        return self._objects

    def exists(self) -> bool:
        """Whether the directory was made."""
        return (self.path / "objects").is_dir()

    def clone(self, root: str, run_id: str) -> str:
        """Copy the repository at `root`; the id of its HEAD commit, on the run's own branch.

        Raises `BadInput` where it has no commit.
        """
        done = host_git(
            "clone", "--quiet", "--bare", "--template=", "--no-hardlinks", "--dissociate",
            "--", root, str(self.path),
            env=self._trusting() | {"GIT_ALLOW_PROTOCOL": "file", "GIT_NO_LAZY_FETCH": "1"},
            timeout=_CLONE_SECONDS,
        )  # fmt: skip
        if done.status != 0:
            raise Unavailable(f"{root} cannot be copied: {said(done)}")
        if (self.path / "objects/info/alternates").exists():
            raise Unavailable(f"{root} borrows its objects from another repository.")
        head = self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
        base = head.stdout.decode("ascii", "replace").strip()
        if head.status != 0 or not _ID.fullmatch(base):
            raise BadInput(
                f"The repository {root} has no commit.",
                remedy="Make a first commit: git add -A && git commit -m 'First commit'",
                field="path",
            )
        self.run("config", "--remove-section", "remote.origin", check=False)
        self._settle(run_id, base)
        return base

    def init(self, run_id: str, stream: int) -> str:
        """A repository of one commit, from the `fast-import` stream that the descriptor gives."""
        done = host_git("init", "--quiet", "--bare", "--template=", str(self.path))
        if done.status != 0:
            raise Unavailable(f"No repository can be made: {said(done)}")
        self.run("fast-import", "--quiet", "--date-format=raw", stdin_fd=stream)
        base = self.text("rev-parse", "--verify", "refs/m31a/base")
        self._settle(run_id, base)
        return base

    def _settle(self, run_id: str, base: str) -> None:
        """What commands see: the run's branch, our rules of what is in a tree, readable files."""
        branch = f"refs/heads/m31a/{run_id}"
        made = self.run("update-ref", branch, base, check=False)
        if made.status != 0:
            raise Refused(
                f"The run's branch cannot be made: {said(made)}",
                remedy="Rename a branch called m31a, if there is one.",
            )
        put(self.path / "HEAD", f"ref: {branch}\n".encode(), 0o644)
        config = self.path / "config"
        put(config, config.read_bytes() + _CONFIG.encode(), 0o644)
        (self.path / "info").mkdir(exist_ok=True)
        put(self.path / "info" / "attributes", _ATTRIBUTES.encode(), 0o644)
        (self.path / "refs" / "m31a").mkdir(exist_ok=True)
        self.set_checkpoint(base)
        self.index_head()
        _readable(self.path)

    def exclude(self, names: list[str]) -> None:
        """Paths that are never part of a tree: the links to mounted environments."""
        text = "".join(f"/{_glob_quoted(name)}\n" for name in names)
        put(self.path / "info" / "exclude", text.encode(), 0o644)

    def set_checkpoint(self, commit: str) -> None:
        """Keep a commit, and all before it, as the run's newest checkpoint."""
        put(self.path / CHECKPOINT_REF, f"{commit}\n".encode(), 0o644)

    def checkpoint(self) -> str:
        """The commit of the newest checkpoint."""
        return (self.path / CHECKPOINT_REF).read_text("ascii").strip()

    def head(self) -> str:
        """The commit of the run's branch."""
        return self.text("rev-parse", "--verify", "HEAD^{commit}")

    def index_head(self) -> None:
        """Give commands an index of HEAD. It has no stat data: git then compares contents."""
        new = self.path / "index.new"
        self.run("read-tree", "HEAD", env={"GIT_INDEX_FILE": str(new)})
        new.chmod(0o644)
        os.replace(new, self.path / "index")

    def import_pack(self, fd: int, size: int) -> None:
        """Take in the objects that a caged git packed; git checks each of them. Raises `Refused`.

        `fd` stands at the pack's first byte.
        """
        header = os.pread(fd, 12, os.lseek(fd, 0, os.SEEK_CUR))
        if len(header) < 12 or header[:4] != b"PACK":
            raise Unavailable("The checkpoint's objects did not arrive whole.")
        bound = f"--max-input-size={size}"
        if int.from_bytes(header[8:12], "big") <= _MAX_UNPACKED:
            done = self.run("unpack-objects", "-q", "--strict", bound, stdin_fd=fd, check=False)
        else:
            done = self.run("index-pack", "--strict", "--stdin", bound, stdin_fd=fd, check=False)
        if done.status != 0:
            raise Refused(
                f"Git does not take in what is in the worktree: {said(done)}",
                remedy="Remove or repair what it names.",
            )

    def commit(self, tree: str, parent: str, message: str, ref: str) -> str:
        """Commit a tree and move `ref` from `parent` to it. Raises `Refused` if it is elsewhere."""
        made = self.objects.commit(tree, [parent], message)
        moved = self.run("update-ref", "--no-deref", ref, made, parent, check=False)
        if moved.status != 0:
            raise Refused(f"{ref} cannot be moved: {said(moved)}")
        self.index_head()
        return made

    def diff(self, before: str, after: str, path: str | None, *, binary: bool) -> str:
        """The patch between two trees, for reading or (`binary`) for applying; bounded."""
        form = ("--binary", "--full-index") if binary else ()
        done = self.run(
            "diff-tree", "-p", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color", *form,
            oid(before), oid(after), "--", *([path] if path else []),
        )  # fmt: skip
        # What is to be applied keeps every byte; what is to be read is valid text.
        text = done.stdout.decode("utf-8", "surrogateescape" if binary else "replace")
        if len(text) <= _MAX_DIFF or binary:
            return text
        return text[:_MAX_DIFF] + f"\n[… {len(text) - _MAX_DIFF} characters cut …]\n"

    def numstat(self, before: str, after: str) -> tuple[int, int, int]:
        """Files, inserted lines and deleted lines between two trees; binary files have none."""
        out = self.run(
            "diff-tree", "-r", "--numstat", "--no-renames", "-z", "--no-ext-diff",
            "--no-textconv", oid(before), oid(after),
        ).stdout  # fmt: skip
        rows = [row.split(b"\t")[:2] for row in out.split(b"\0") if row]
        added, gone = (sum(int(row[n]) for row in rows if row[n] != b"-") for n in (0, 1))
        return len(rows), added, gone

    def text(self, *args: str) -> str:
        """What git says, without the line end."""
        return self.run(*args).stdout.decode("utf-8", "replace").strip()

    def run(
        self,
        *args: str,
        env: dict[str, str] | None = None,
        stdin_fd: int | None = None,
        check: bool = True,
        timeout: float = _SECONDS,
    ) -> HostResult:
        """Git on this directory and no worktree. With `check`, a failure is `Unavailable`."""
        done = host_git(
            "--bare", f"--git-dir={self.path}", *_FIXED, *args,
            env={"GIT_LITERAL_PATHSPECS": "1"} | (env or {}), stdin_fd=stdin_fd, timeout=timeout,
        )  # fmt: skip
        if check and done.status != 0:
            raise Unavailable(f"git {args[0]} failed: {said(done)}")
        return done

    def _trusting(self) -> dict[str, str]:
        """For calls that read a repository of another owner: only a file reaches upload-pack."""
        return {"GIT_CONFIG_GLOBAL": str(trust_file(self.path.parent))}


def trust_file(folder: Path) -> Path:
    """A git configuration that trusts directories of any owner, for one call at a time."""
    path = folder / "trust.gitconfig"
    if not path.exists():
        put(path, _TRUST.encode(), 0o644)
    return path


def host_git(
    *args: str,
    env: dict[str, str] | None = None,
    stdin_fd: int | None = None,
    timeout: float = _SECONDS,
) -> HostResult:
    """The one place where git runs on the host. Raises `Unavailable` where there is no git."""
    if shutil.which("git") is None:
        raise Unavailable("git was not found.", remedy="Install git.")
    command = by_runtime(Exec("git", args), "git")
    return run_host(command, cwd="/", env=env, stdin_fd=stdin_fd, timeout=timeout)


def said(done: HostResult) -> str:
    """The end of what git complained about, on one line."""
    text = done.stderr.decode("utf-8", "replace").strip() or f"exit status {done.status}"
    return " ".join(text.split())[-500:]


def oid(name: str) -> str:
    """`name`, if it is a full object id; so that no argument is ever taken for an option."""
    if not _ID.fullmatch(name):
        raise Unavailable(f"{name!r} is no object id.")
    return name


def _glob_quoted(name: str) -> str:
    return re.sub(r"([\\*?\[])", r"\\\1", name)


def _readable(folder: Path) -> None:
    """Every account may read, whatever the umask was; the folder above is private."""
    for where, _, files in os.walk(folder):
        os.chmod(where, 0o755)
        for name in files:
            path = os.path.join(where, name)
            mode = stat.S_IMODE(os.lstat(path).st_mode)
            if mode & 0o444 != 0o444:
                os.chmod(path, mode | 0o444)
