"""Whether this machine can confine a command: found out by confining one and looking at it."""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
import time
from dataclasses import replace

from runtime.core.commands import Exec, Shell
from runtime.core.errors import M31AError
from runtime.policy.authorised import by_runtime
from runtime.sandbox import accounts, backends, bubblewrap, client, diagnosis, landlock
from runtime.sandbox.cell import Cell
from runtime.sandbox.spec import AGENT_ID, CageSpec, Finding, Limits, Mount, Result

_ROOT = "/m31a/selftest"
_SENTINEL = 523  # an unusual number of open files, set from outside, looked for inside
_SESSION_SECONDS = 3.0  # that namespaces are waited for
_BAD_NEWS_SECONDS = 5.0  # a failed test is repeated after that: somebody may have mended it
_PROBE = """
cat /proc/self/status && echo == && cat /proc/self/limits && echo == && cat /proc/net/dev &&
echo == && echo /proc/[0-9]* && echo probe > written
"""
# Shells report what they try on their standard error; only what succeeds is said on the other.
_ATTEMPTS = """
echo ==; cat "$1"; echo x > "$2"; mkdir "$2.d"; kill -0 "$3" && echo signalled; rm -f "$1"
echo x > /tmp/m31a-"$4"; cat /etc/passwd | head -c 4; exit 0
"""

_lock = threading.Lock()
_last: dict[str, tuple[str, float, Finding]] = {}


def check(backend: str, *, fresh: bool = False) -> Finding:
    """The finding for a backend in this process; a good one is kept until another program is used.

    Never raises for a machine that cannot confine: that is a finding with ok=False and a remedy.
    """
    with _lock:
        key = _key(backend)
        if backend in _last and not fresh and _last[backend][0] == key:
            _, at, finding = _last[backend]
            if finding.ok or time.monotonic() < at + _BAD_NEWS_SECONDS:
                return replace(finding, facts=dict(finding.facts))
        finding = _test(backend)
        _last[backend] = (key, time.monotonic(), finding)
        return replace(finding, facts=dict(finding.facts))


def _key(backend: str) -> str:
    """Changes when another program, or another version of it, would be used."""
    if backend != backends.BUBBLEWRAP:
        return f"{os.getpid()} {landlock.version()}"
    try:
        bwrap = bubblewrap.find()
        return f"{os.getpid()} {bwrap.path} {os.stat(bwrap.path).st_mtime_ns} {bwrap.version}"
    except (OSError, M31AError) as error:
        return f"{os.getpid()} {error}"


def _bad(detail: str, remedy: str, facts: dict[str, str | int | bool] | None = None) -> Finding:
    return Finding(False, "none", detail, remedy, facts or {})


def _test(backend: str) -> Finding:
    try:
        uid = accounts.pick_uid(set())
        with tempfile.TemporaryDirectory(prefix="m31a-selftest-") as folder:
            return _confine(backend, folder, uid)
    except M31AError as error:
        return _bad(error.message, error.remedy)
    except OSError as error:
        return _bad(
            f"The self-test cannot be prepared: {error}.",
            "Make the directory for temporary files writable.",
        )


def _confine(backend: str, folder: str, uid: int | None) -> Finding:
    """One command with the full profile, in a throw-away worktree."""
    try:
        spec = _throw_away(folder, uid, open_files=_SENTINEL)
    except PermissionError as error:
        return _bad(
            f"Files cannot be given to account {uid}: {error.strerror}.",
            "The server runs as root without the right to change owners: give it CHOWN and an"
            " account range (M31A_UID_RANGE) that exists, or start it as an ordinary user.",
        )
    outside = _Outside(folder)
    script = _PROBE if backend != backends.SEATBELT else "echo probe > written\n"
    if backend != backends.BUBBLEWRAP:
        script += outside.attempts()
    with Cell(spec, backend=backend) as cell:
        result = cell.run(by_runtime(Shell(script), "self-test"), timeout=20)
    if result.failure or result.status != 0:
        said = result.failure or f"The probe ended with {result.status}: {result.text('stderr')}"
        return _bad(said, diagnosis.remedy(said), dict(result.attestation))
    effects = {} if backend == backends.SEATBELT else _effects(result.text(), backend)
    if backend != backends.BUBBLEWRAP:
        effects |= outside.effects(result.text())
    missing = [what for what, holds in effects.items() if not holds]
    owner = os.stat(os.path.join(folder, "tree", "written")).st_uid
    if owner != (os.geteuid() if uid is None else uid):
        missing.append(f"files belong to the run's account (they belong to {owner})")
    facts = result.attestation | {"milliseconds": result.duration_ms}
    if missing:
        return _bad(
            f"The cage does not hold: not true is that {'; '.join(missing)}.",
            f"Update the kernel{' and bubblewrap' if backend == backends.BUBBLEWRAP else ''}, or"
            " run the server on another machine.",
            facts,
        )
    return Finding(True, backend, _words(backend, uid, result), "", facts)


def sessions() -> tuple[bool, str]:
    """Whether namespaces stay for the next command, or why not, in words. Costs time alone: each
    command is as confined in its own. Raises `M31AError` where nothing can be confined."""
    if not client.keeps_sessions():
        return True, "Turned off by M31A_SANDBOX_SESSIONS: each command gets its own."
    true, uid = by_runtime(Exec("true"), "self-test"), accounts.pick_uid(set())
    with tempfile.TemporaryDirectory(prefix="m31a-selftest-") as folder:
        spec = _throw_away(folder, uid)
        with Cell(spec) as cell:
            until = time.monotonic() + _SESSION_SECONDS
            while time.monotonic() < until:
                result = cell.run(true, timeout=20)
                if "session" in result.attestation:
                    return True, "They stay for the next command that finds them as new."
                if result.failure:
                    return False, result.failure
                time.sleep(0.05)
            said = cell.last_words.removeprefix("failed: ") or "nothing says why"
    return False, f"Each command gets its own, which takes longer: {said}."


def _throw_away(folder: str, uid: int | None, **limits: int) -> CageSpec:
    """A worktree that goes with its folder. Raises OSError where it cannot be given away."""
    tree, etc = os.path.join(folder, "tree"), os.path.join(folder, "etc")
    os.mkdir(tree, 0o700)
    os.mkdir(etc, 0o755)  # empty: the probe is a shell and cat
    if uid is not None:
        os.chown(tree, uid, uid)
    return CageSpec(
        root=_ROOT,
        mounts=(Mount(tree, _ROOT, writable=True), Mount(etc, "/etc")),
        uid=uid,
        limits=Limits(**limits),
        label="selftest",
    )


def _words(backend: str, uid: int | None, result: Result) -> str:
    facts = result.attestation
    account = f"commands run as account {facts['uid']}"
    if backend == backends.BUBBLEWRAP:
        return f"bubblewrap {facts['bubblewrap_version']} ({facts['bubblewrap_kind']}), {account}."
    if backend == backends.SEATBELT:
        return f"Seatbelt, {account}. It does not hold: {facts['not_held']}."
    weaker = "; ".join(
        f"{words} ({probe})" for probe, words in backends.not_held(backend, uid).items()
    )
    return f"Landlock {facts['landlock_version']}, {account}. It does not hold: {weaker}."


def _effects(seen: str, backend: str) -> dict[str, bool]:
    """What the probe saw, as promises that hold or do not."""
    status, limits, network, processes, *_ = [*seen.split("==\n"), "", "", ""]
    fields = {line.partition(":")[0]: line.split()[1:] for line in status.splitlines()}
    files = [line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files")]
    devices = [line.partition(":")[0].strip() for line in network.splitlines() if ":" in line]
    enclosed = backend == backends.BUBBLEWRAP
    kinds = ("Inh", "Prm", "Eff", "Bnd", "Amb") if enclosed else ("Inh", "Prm", "Eff", "Amb")
    users = fields.get("Uid", ["0"])
    found = {
        "a command is not root": users == [str(AGENT_ID)] * 4 if enclosed else "0" not in users,
        "it has no capabilities": all(fields.get(f"Cap{kind}") == ["0" * 16] for kind in kinds),
        "it cannot gain privileges": fields.get("NoNewPrivs") == ["1"],
        "its system calls are filtered": fields.get("Seccomp") == ["2"],
        "its limits are set": files == [[str(_SENTINEL)] * 2],
    }
    if enclosed:
        found |= {
            "it sees only its own processes": 0 < len(processes.split()) < 8,
            "it has no network": devices == ["lo"],
        }
    return found


class _Outside:
    """Things beside the worktree that a command tries to reach: files, and this very process."""

    def __init__(self, folder: str) -> None:
        self.secret = secrets.token_hex(8)
        self.folder = os.path.join(folder, "outside")
        self.file = os.path.join(self.folder, "file")
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o777)  # the mode does not keep the run's account out
        with open(self.file, "w", encoding="ascii") as file:
            file.write(self.secret)
        os.chmod(self.file, 0o666)
        os.chmod(folder, 0o755)

    def attempts(self) -> str:
        words = (self.file, os.path.join(self.folder, "made"), str(os.getpid()), self.secret)
        return f"set -- {' '.join(words)}\n{_ATTEMPTS}"

    def effects(self, seen: str) -> dict[str, bool]:
        said = seen.rpartition("==\n")[2]
        temporary = f"/tmp/m31a-{self.secret}"
        left = os.path.exists(temporary)
        if left:
            os.unlink(temporary)
        return {
            "files outside cannot be read": self.secret not in said and "root" not in said,
            "files outside cannot be written": os.listdir(self.folder) == ["file"] and not left,
            "other processes cannot be signalled": "signalled" not in said,
        }
