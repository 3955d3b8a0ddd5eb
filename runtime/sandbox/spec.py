"""What a cage is made of, and what comes out of it: plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

from runtime.core.errors import BadInput

AGENT_HOME = "/home/agent"
AGENT_ID = 1000  # what a command sees as its own uid and gid, whoever it is on the host


@dataclass(frozen=True, slots=True)
class Mount:
    """A directory or file of the host and its place in the cage.

    `only="git"`: mounted for the profile `git` alone, never for a proposed command.
    """

    source: str
    target: str
    writable: bool = False
    only: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one command. All positive.

    `output_bytes` is what is kept per stream, half of it from the head and half from the tail;
    `tmpfs_files` bounds the files of each directory in memory; `cpu_seconds` counts all processes
    together, `total_output_bytes` both streams, kept or not; `cpus` processors at a time are given
    where a control group can bound that;
    `written_bytes` counts what all processes of a command write to disk, `memory_bytes` what they
    hold together.
    """

    memory_bytes: int = 2 << 30
    file_bytes: int = 256 << 20
    written_bytes: int = 1 << 30
    processes: int = 128
    tmpfs_bytes: int = 64 << 20
    tmpfs_files: int = 1 << 16
    open_files: int = 1024
    wall_seconds: float = 120.0
    output_bytes: int = 64 << 10
    cpu_seconds: float = 1200.0
    cpus: float = 1024.0
    total_output_bytes: int = 4 << 30

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not value > 0 or not math.isfinite(value):
                raise BadInput(
                    f"The limit {item.name} is {value!r}.",
                    remedy="Give a positive, finite number.",
                    field=item.name,
                )


@dataclass(frozen=True, slots=True)
class CageSpec:
    """One cage.

    `root` is the worktree's path in the cage and the directory commands start in; `mounts` holds
    the worktree and `/etc`, too. `path` leads PATH. `uid` is the host account of every command:
    None where the server was started by a person (it stays that person), a number where the server
    is root. `gid` is the uid unless it is given. `label` marks the processes, so that those of a
    server that is gone can be found again (`end_leftovers`). `accepts` names the weaker backend
    that the owner of the files has accepted in writing: landlock, none, or nothing.
    """

    root: str
    mounts: tuple[Mount, ...]
    path: tuple[str, ...] = ()
    uid: int | None = None
    limits: Limits = field(default_factory=Limits)
    label: str = ""
    gid: int | None = None
    accepts: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What one command did.

    `status` is the exit status; None where the program was not executed (`failure` says why) or
    was ended by `signal`. A status of 128+n that the cage reports is taken for signal n, as every
    shell does. `limit` names the bound of `Limits` that ended it, or, where a command failed by
    itself, one that it was seen to stand at. `stdout` and `stderr` hold what
    was kept: all of it, or `stdout_head` bytes of the beginning followed by the end; the `_bytes`
    count what was written. `cpu_ms` covers all processes, `peak_memory` (bytes) is the largest
    single one, or all together where a cgroup counts; in kept namespaces it is never less than what
    the process takes that starts commands there, some 11 MB. `contacts` are the hosts that it reached, or
    tried to, through its proxy: plain data, never what was said.
    """

    status: int | None
    signal: int | None
    timed_out: bool
    cancelled: bool
    limit: str | None
    stdout: bytes
    stderr: bytes
    stdout_bytes: int
    stderr_bytes: int
    truncated: bool
    duration_ms: int
    cpu_ms: int
    peak_memory: int
    attestation: dict[str, str | int | bool]
    failure: str | None
    stdout_head: int = 0
    stderr_head: int = 0
    contacts: tuple[dict[str, str | int], ...] = ()

    @property
    def ok(self) -> bool:
        """The program was executed and ended by itself with status 0."""
        return self.status == 0 and not (self.timed_out or self.cancelled or self.limit)

    def report(self) -> dict[str, object]:
        """The result as the command line prints it."""
        return {
            "status": self.status,
            "signal": self.signal,
            "timed_out": self.timed_out,
            "cancelled": self.cancelled,
            "limit": self.limit,
            "failure": self.failure,
            "stdout": self.text("stdout"),
            "stderr": self.text("stderr"),
            "stdout_bytes": self.stdout_bytes,
            "stderr_bytes": self.stderr_bytes,
            "truncated": self.truncated,
            "duration_ms": self.duration_ms,
            "cpu_ms": self.cpu_ms,
            "peak_memory": self.peak_memory,
            "sandbox": dict(self.attestation),
            **({"contacts": list(self.contacts)} if self.contacts else {}),
        }

    def text(self, stream: str = "stdout") -> str:
        """A stream as valid text: no character is split at the cut, which says how much is gone."""
        kept, head, total = (
            (self.stdout, self.stdout_head, self.stdout_bytes)
            if stream == "stdout"
            else (self.stderr, self.stderr_head, self.stderr_bytes)
        )
        if total <= len(kept):
            return kept.decode("utf-8", "replace")
        first, last = _whole_end(kept[:head]), _whole_start(kept[head:])
        cut = total - len(first) - len(last)
        return (
            first.decode("utf-8", "replace")
            + f"\n[… {cut} bytes cut …]\n"
            + last.decode("utf-8", "replace")
        )


def _whole_end(data: bytes) -> bytes:
    """Without an incomplete character at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return data[:-back] if length > back else data
    return data


def _whole_start(data: bytes) -> bytes:
    """Without the rest of a character at the beginning."""
    skip = 0
    while skip < min(3, len(data)) and data[skip] & 0xC0 == 0x80:
        skip += 1
    return data[skip:]


@dataclass(frozen=True, slots=True)
class HostResult:
    """What a trusted process of the server did. `status` is negative where a signal ended it."""

    status: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of the self-test: whether commands can be confined here, and what to do if not."""

    ok: bool
    backend: str
    detail: str
    remedy: str
    facts: dict[str, str | int | bool]
