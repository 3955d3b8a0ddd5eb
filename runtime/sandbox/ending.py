"""How a command ended, from what the broker and its control group say: status, signal, limit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from runtime.sandbox import wire
from runtime.sandbox.cgroups import Account
from runtime.sandbox.command import Verdict
from runtime.sandbox.spec import Limits

_ENDED_BY = {
    wire.OVER_MEMORY: "memory_bytes",
    wire.OVER_WRITTEN: "written_bytes",
    wire.OVER_FILES: "tmpfs_files",
    wire.DISK_FULL: "free_disk",
    wire.OVER_CPU: "cpu_seconds",
    wire.OVER_OUTPUT: "total_output_bytes",
}
_STOOD_AT = {wire.AT_PROCESSES: "processes", wire.AT_OPEN_FILES: "open_files"}
_SIGNALS = {25: "file_bytes"}  # SIGXFSZ
_NEARLY = 7 / 8  # of the memory: who wanted more than was left was refused it


@dataclass(frozen=True, slots=True)
class Ending:
    """`verdict` as it counts; `limit` as `Result` says it."""

    verdict: Verdict
    status: int | None
    signal: int | None
    limit: str | None


def judge(verdict: Verdict, account: Account, limits: Limits) -> Ending:
    """What all of that comes to. What was killed at a bound has no status of its own."""
    stood = _STOOD_AT.get(verdict.reason)
    if stood:
        verdict = replace(verdict, reason=wire.ENDED)
    if account.limit and verdict.reason == wire.ENDED and verdict.code in (None, 128 + 9):
        verdict = replace(verdict, reason=wire.OVER_MEMORY)  # the kernel was faster than we
    verdict = replace(
        verdict,
        cpu_ms=verdict.cpu_ms if account.cpu_ms is None else account.cpu_ms,
        peak_memory=verdict.peak_memory if account.peak is None else account.peak,
    )
    status, signal = _status(verdict)
    limit = _ENDED_BY.get(verdict.reason) or _SIGNALS.get(signal or 0)
    if limit is None and verdict.reason == wire.ENDED and (status or signal):
        limit = stood or ("processes" if account.processes_refused else None)
        if limit is None and verdict.peak_memory >= limits.memory_bytes * _NEARLY:
            limit = "memory_bytes"
    return Ending(verdict, status, signal, limit)


def _status(verdict: Verdict) -> tuple[int | None, int | None]:
    """Exit status and signal."""
    code = verdict.code
    if code is None:
        killed = verdict.reason not in (wire.ENDED, wire.BROKEN)
        return None, 9 if killed else None
    if 128 < code <= 128 + 64:
        return None, code - 128
    return code, None
