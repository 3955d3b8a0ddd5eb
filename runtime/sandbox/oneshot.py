"""An operator's own commands, confined to a directory of the host as it is."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from runtime.core.commands import Command
from runtime.core.errors import BadInput, NotFound
from runtime.policy.authorised import Authorised
from runtime.sandbox import covers
from runtime.sandbox.cage import Cage
from runtime.sandbox.command import OnOutput
from runtime.sandbox.etc import base_etc
from runtime.sandbox.layout import Cover
from runtime.sandbox.spec import CageSpec, Limits, Mount, Result
from runtime.sandbox.toolchains import find_toolchains


def run_one(
    root: str,
    authorised: Authorised[Command],
    *,
    timeout: float | None = None,
    limits: Limits | None = None,
    cancel: threading.Event | None = None,
    on_output: OnOutput | None = None,
) -> Result:
    """One command in a `OneShot` of `root`."""
    with OneShot(root, limits=limits) as shot:
        return shot.run(authorised, timeout=timeout, cancel=cancel, on_output=on_output)


class OneShot:
    """`root` itself, at its own path, is what commands see, start in and may write.

    Started as root they run as its owner, which must not be root; nothing is chowned. A real
    `.git` directory in it is read-only; sockets present at the start are covered, since a mount
    does not keep a program from talking to whoever listens there. A context manager, for one
    command after the other.

    Raises NotFound where `root` is no directory, BadInput where nothing can be run in it.
    """

    def __init__(self, root: str, *, limits: Limits | None = None) -> None:
        self.root = os.path.abspath(root)
        try:
            about = os.stat(self.root)
        except OSError as error:
            raise NotFound(f"{root}: {error.strerror}.", field="root") from error
        if not stat.S_ISDIR(about.st_mode):
            raise BadInput(f"{root} is not a directory.", field="root")
        self._uid: int | None = None
        self._gid: int | None = None
        if os.geteuid() == 0:
            if about.st_uid == 0:
                raise BadInput(
                    f"{root} belongs to root, and no command runs as root.",
                    remedy=f"Give it to an ordinary account: chown -R USER {root}",
                    field="root",
                )
            self._uid, self._gid = about.st_uid, about.st_gid or about.st_uid
        self._limits = limits or Limits()
        self._etc = tempfile.TemporaryDirectory(prefix="m31a-etc-")
        base_etc(self._etc.name)
        self._covered: dict[str, int] = {}
        self._cage: Cage | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End what runs and remove what was made for it."""
        self._close_cage()
        self._etc.cleanup()

    def run(
        self,
        authorised: Authorised[Command],
        *,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
        on_output: OnOutput | None = None,
        hosts: Sequence[str] = (),
    ) -> Result:
        """Execute one command; see `Cage.run`."""
        if self._cage is None or not self._still_there():
            self._close_cage()
            self._cage = self._make()
        return self._cage.run(
            authorised, timeout=timeout, cancel=cancel, on_output=on_output, hosts=hosts
        )

    def _close_cage(self) -> None:
        if self._cage is not None:
            self._cage.close()
            self._cage = None

    def _make(self) -> Cage:
        account = os.geteuid() if self._uid is None else self._uid
        self._covered = covers.find(self.root, account)
        tools = find_toolchains()
        inside = (self.root.rstrip("/") + "/",)
        mounts = [
            Mount(os.path.realpath(self.root), self.root, writable=True),
            Mount(self._etc.name, "/etc"),
            *[Mount(t.source, t.target) for t in tools if not t.target.startswith(inside)],
        ]
        spec = CageSpec(
            root=self.root,
            mounts=tuple(mounts),
            path=tuple(tool.bin for tool in tools),
            uid=self._uid,
            gid=self._gid,
            limits=self._limits,
            label="sandbox-run",
        )
        laid = tuple(
            Cover(os.path.join(self.root, name), hide=stat.S_ISSOCK(kind))
            for name, kind in self._covered.items()
        )
        return Cage(spec, covers=laid)

    def _still_there(self) -> bool:
        """Everything covered is still what it was, reached without a link: bubblewrap would
        otherwise make the mount point, through the link, on the host."""
        return all(covers.kind(self.root, name) == kind for name, kind in self._covered.items())
