"""A vendor's own program, confined: it reads untrusted text, and might do what that says.

It starts in an empty folder, with an empty environment, sees its program, its credentials and the
system's files, and ends with everything that it started. The one place that authorises it.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass

from runtime import sandbox
from runtime.core.commands import Exec
from runtime.core.errors import BadInput, Unavailable
from runtime.policy.authorised import by_runtime
from runtime.providers.wording import clean
from runtime.sandbox import Cage, CageSpec, Limits, Mount, Result

_ROOT, _HOME, _QUESTION = "/m31a/empty", "/m31a/home", "/m31a/question"
_MEMORY = 4 << 30
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib")
_PIPED = 'exec "$@" <' + _QUESTION


@dataclass(frozen=True, slots=True)
class Tool:
    """A program of a vendor. All paths are real ones."""

    program: str
    home: str = ""
    """The folder with its credentials, which it may write; the empty string for none."""
    folders: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """What it may reach, by a proxy that the cage tells it of; () for no network."""

    def version(self, timeout: float) -> str:
        """What it says of itself when it is started confined. Raises `M31AError`."""
        result = run(self, ["--version"], timeout=timeout, keep=4096, cancel=threading.Event())
        if not result.ok:
            why = result.failure or clean(result.text("stderr"), limit=200) or "no word"
            raise Unavailable(
                f"{self.program} does not start in the cage: {why}.",
                remedy="Name the folders that it needs in M31A_AGY_FOLDERS.",
            )
        return f"{self.program} {clean(result.text(), limit=80)}".strip()


def run(
    tool: Tool,
    arguments: list[str],
    *,
    stdin: bytes | None = None,
    timeout: float,
    keep: int,
    cancel: threading.Event,
    on_output: Callable[[str, bytes], None] | None = None,
) -> Result:
    """Run it once, to its end or that of `timeout` seconds. See `Cage.run` for the rest.

    Raises `Unavailable` where it cannot be confined as it must be, and `BadInput` for settings
    with which it cannot run.
    """
    _require_places()
    uid, gid = _account(tool)
    with tempfile.TemporaryDirectory(prefix="m31a-vendor-") as folder:
        os.chmod(folder, 0o711)
        etc = os.path.join(folder, "etc")
        sandbox.base_etc(etc)
        mounts = [Mount(etc, "/etc"), *_mounts(tool), _empty(folder, uid, gid)]
        argv = [tool.program, *arguments]
        if stdin is not None:
            mounts.append(_question(folder, stdin, uid, gid))
            argv = ["/bin/sh", "-c", _PIPED, "sh", *argv]
        spec = CageSpec(
            root=_ROOT,
            mounts=tuple(mounts),
            uid=uid,
            gid=gid,
            limits=Limits(memory_bytes=_MEMORY),
            label="provider",
        )
        with Cage(spec) as cage:
            return cage.run(
                by_runtime(Exec(argv[0], tuple(argv[1:])), "provider"),
                timeout=timeout,
                hosts=tool.hosts,
                keep=keep,
                cancel=cancel,
                on_output=on_output,
                env={"HOME": _HOME} if tool.home else {},
            )


def _require_places() -> None:
    """Only where places can be given names of their own is a program kept from all others."""
    finding = sandbox.check()
    if finding.ok and finding.backend != "bubblewrap":
        raise Unavailable(
            f"A program of a vendor runs only under bubblewrap; here commands run under "
            f"{finding.backend}.",
            remedy="Make bubblewrap work (`m31a doctor` says what it lacks) and unset M31A_SANDBOX, "
            "or use a provider that is reached over HTTP.",
        )


def _mounts(tool: Tool) -> list[Mount]:
    mounts = [Mount(folder, folder) for folder in tool.folders]
    if not tool.program.startswith((*_SYSTEM, *(f"{folder}/" for folder in tool.folders))):
        mounts.append(Mount(tool.program, tool.program))
    if tool.home:
        mounts.append(Mount(tool.home, _HOME, writable=True))
    return mounts


def _empty(folder: str, uid: int | None, gid: int | None) -> Mount:
    path = os.path.join(folder, "empty")
    os.mkdir(path, 0o700)
    _give(path, uid, gid)
    return Mount(path, _ROOT, writable=True)


def _question(folder: str, data: bytes, uid: int | None, gid: int | None) -> Mount:
    """What the program reads on its standard input: a file of its account alone."""
    path = os.path.join(folder, "question")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
        file.write(data)
    _give(path, uid, gid)
    return Mount(path, _QUESTION)


def _give(path: str, uid: int | None, gid: int | None) -> None:
    if uid is not None:
        os.chown(path, uid, gid if gid is not None else uid)


def _account(tool: Tool) -> tuple[int | None, int | None]:
    """Started as root the program runs as the owner of its credentials, else as nobody's account:
    the last of the range, which runs take from the other end."""
    if os.geteuid() != 0:
        return None, None
    if not tool.home:
        last = sandbox.uid_range()[1]
        return last, last
    about = os.stat(tool.home)
    if about.st_uid == 0:
        raise BadInput(
            f"{tool.home} belongs to root, and no program of a vendor runs as root.",
            remedy=f"Give it to an account of its own: chown -R ACCOUNT {tool.home}",
            field="home",
        )
    return about.st_uid, about.st_gid or about.st_uid
