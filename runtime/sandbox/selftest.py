"""Whether this machine can confine a command: found out by confining one and looking at it."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from dataclasses import replace

from runtime.core.commands import Shell
from runtime.core.errors import M31AError, Unavailable
from runtime.policy.authorised import by_runtime
from runtime.sandbox import accounts, bubblewrap, diagnosis
from runtime.sandbox.cell import Cell
from runtime.sandbox.spec import AGENT_ID, CageSpec, Finding, Limits, Mount

_BACKEND = "bubblewrap"
_ROOT = "/m31a/selftest"
_SENTINEL = 523  # an unusual number of open files, set from outside, looked for inside
_BAD_NEWS_SECONDS = 5.0  # a failed test is repeated after that: somebody may have mended it
_PROBE = """
cat /proc/self/status && echo == && cat /proc/self/limits && echo == && cat /proc/net/dev &&
echo == && echo /proc/[0-9]* && echo probe > written
"""

_lock = threading.Lock()
_last: tuple[str, float, Finding] | None = None


def check(*, fresh: bool = False) -> Finding:
    """The finding for this process; a good one is kept until another bubblewrap is in use.

    Never raises for a machine that cannot confine: that is a finding with ok=False and a remedy.
    """
    global _last
    with _lock:
        key = _key()
        if _last is not None and not fresh and _last[0] == key:
            _, at, finding = _last
            if finding.ok or time.monotonic() < at + _BAD_NEWS_SECONDS:
                return replace(finding, facts=dict(finding.facts))
        finding = _test()
        _last = (key, time.monotonic(), finding)
        return replace(finding, facts=dict(finding.facts))


def require() -> None:
    """Raise Unavailable, with what is missing and the remedy, unless commands can be confined."""
    finding = check()
    if not finding.ok:
        raise Unavailable(finding.detail, remedy=finding.remedy)


def _key() -> str:
    """Changes when another program, or another version of it, would be used."""
    try:
        bwrap = bubblewrap.find()
        return f"{os.getpid()} {bwrap.path} {os.stat(bwrap.path).st_mtime_ns} {bwrap.version}"
    except (OSError, M31AError) as error:
        return f"{os.getpid()} {error}"


def _test() -> Finding:
    try:
        uid = accounts.pick_uid(set())
        with tempfile.TemporaryDirectory(prefix="m31a-selftest-") as folder:
            return _confine(folder, uid)
    except M31AError as error:
        return Finding(False, "none", error.message, error.remedy, {})
    except OSError as error:
        return Finding(
            False, "none", f"The self-test cannot be prepared: {error}.",
            "Make the directory for temporary files writable.", {},
        )  # fmt: skip


def _confine(folder: str, uid: int | None) -> Finding:
    """One command with the full profile, in a throw-away worktree."""
    tree, etc = os.path.join(folder, "tree"), os.path.join(folder, "etc")
    os.mkdir(tree, 0o700)
    os.mkdir(etc, 0o755)  # empty: the probe is a shell and cat
    if uid is not None:
        try:
            os.chown(tree, uid, uid)
        except OSError as error:
            return Finding(
                False, "none", f"Files cannot be given to account {uid}: {error.strerror}.",
                "The server runs as root without the right to change owners: give it CHOWN and an"
                " account range (M31A_UID_RANGE) that exists, or start it as an ordinary user.", {},
            )  # fmt: skip
    spec = CageSpec(
        root=_ROOT,
        mounts=(Mount(tree, _ROOT, writable=True), Mount(etc, "/etc")),
        uid=uid,
        limits=Limits(open_files=_SENTINEL),
        label="selftest",
    )
    with Cell(spec) as cell:
        result = cell.run(by_runtime(Shell(_PROBE), "self-test"), timeout=20)
    if result.failure or result.status != 0:
        said = result.failure or f"The probe ended with {result.status}: {result.text('stderr')}"
        return Finding(False, "none", said, diagnosis.remedy(said), dict(result.attestation))
    missing = [what for what, holds in _effects(result.text()).items() if not holds]
    owner = os.stat(os.path.join(tree, "written")).st_uid
    if owner != (os.geteuid() if uid is None else uid):
        missing.append(f"files belong to the run's account (they belong to {owner})")
    facts = result.attestation | {"milliseconds": result.duration_ms}
    if missing:
        return Finding(
            False, "none", f"The cage does not hold: not true is that {'; '.join(missing)}.",
            "Update bubblewrap and the kernel, or run the server on another machine.", facts,
        )  # fmt: skip
    detail = f"bubblewrap {facts['bubblewrap_version']} ({facts['bubblewrap_kind']})"
    account = f"account {facts['uid']}"
    return Finding(True, _BACKEND, f"{detail}, commands run as {account}.", "", facts)


def _effects(seen: str) -> dict[str, bool]:
    """What the probe saw, as promises that hold or do not."""
    status, limits, network, processes, *_ = [*seen.split("==\n"), "", "", ""]
    fields = {line.partition(":")[0]: line.split()[1:] for line in status.splitlines()}
    files = [line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files")]
    devices = [line.partition(":")[0].strip() for line in network.splitlines() if ":" in line]
    capabilities = [fields.get(f"Cap{kind}") for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")]
    return {
        "a command is not root": fields.get("Uid") == [str(AGENT_ID)] * 4,
        "it has no capabilities": all(held == ["0" * 16] for held in capabilities),
        "it cannot gain privileges": fields.get("NoNewPrivs") == ["1"],
        "its system calls are filtered": fields.get("Seccomp") == ["2"],
        "it sees only its own processes": 0 < len(processes.split()) < 8,
        "its limits are set": files == [[str(_SENTINEL)] * 2],
        "it has no network": devices == ["lo"],
    }
