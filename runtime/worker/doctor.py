"""Is this machine fit? Every row is found out by trying, and says what to do where it is not.

Works without a data folder, and makes none.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from runtime import providers, sandbox
from runtime.core.errors import M31AError
from runtime.gating import policies
from runtime.journal import guards, hint, newer
from runtime.models import Event, NewerKind
from runtime.sandbox import cgroups, selftest, surroundings
from runtime.worker import presence
from runtime.workflow.states import RUN_TERMINAL

OLDEST = (3, 11)
LOW_DISK, NO_DISK = 1 << 30, 100 << 20
GIB = 1 << 30
Level = Literal["OK", "WARN", "FAULT"]


class Row(NamedTuple):
    """One finding. `required`: without it runs cannot be executed."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    required: bool = False

    @property
    def level(self) -> Level:
        """OK; WARN: something is missing, runs can be executed; FAULT: they cannot."""
        return "OK" if self.ok else "FAULT" if self.required else "WARN"


def table(*, ask_models: bool = False) -> list[Row]:
    """All rows, in the order in which a person would mend them.

    `ask_models`: model servers are asked as well, which costs nothing but some seconds.
    """
    checks: list[Callable[[], Row]] = [
        _python,
        _kernel,
        _surroundings,
        _sandbox,
        _groups,
        _namespaces,
        _folder,
        _disk,
        _database,
        _policy,
        _hint,
        _workers,
        _records,
    ]
    return [*(check() for check in checks), *_backends(), *_providers(ask_models)]


def _python() -> Row:
    ok = sys.version_info >= OLDEST
    return Row("python", ok, platform.python_version(), "" if ok else "Use 3.11 or newer.", True)


def _kernel() -> Row:
    """Parts of the kernel that the supervisor and the cage are made of."""
    system = f"{platform.system()} {platform.release()}"
    lacking = []
    if not hasattr(os, "pidfd_open"):
        lacking.append("pidfd_open")
    if not Path("/proc/self/ns/user").exists():
        lacking.append("user namespaces")
    if "Seccomp:" not in _read("/proc/self/status"):
        lacking.append("seccomp")
    most = _read("/proc/sys/user/max_user_namespaces").strip()
    if most == "0":
        lacking.append("user namespaces (user.max_user_namespaces is 0)")
    if lacking:
        return Row(
            "kernel",
            False,
            f"{system} lacks {', '.join(lacking)}.",
            "Run on Linux 5.10 or newer, with namespaces and seccomp enabled.",
            True,
        )
    return Row("kernel", True, f"{system}: namespaces, seccomp and pidfds are there.", "", True)


def _surroundings() -> Row:
    """What may stand in the way; whether it does, the rows of the sandbox find out."""
    found = surroundings.look()
    return Row("surroundings", not found.remedy, f"{found.words}.", found.remedy)


def _groups() -> Row:
    """What bounds memory and processes of a command as a whole."""
    ok, words = cgroups.described()
    return Row("control groups", ok, words, "" if ok else cgroups.REMEDY)


def _namespaces() -> Row:
    """Whether a command can do without making its own."""
    if not (backend := sandbox.check()).ok or backend.backend != "bubblewrap":
        return Row("kept namespaces", True, "None: only bubblewrap's are kept.", "")
    try:
        ok, words = selftest.sessions()
    except (M31AError, OSError) as error:
        ok, words = False, f"They could not be tried: {error}"
    remedy = "Nothing is less safe. The reason may name a limit or a mount that can be changed."
    return Row("kept namespaces", ok, words, "" if ok else remedy)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _sandbox() -> Row:
    """What confines commands here. A weaker backend that nobody has accepted confines no run."""
    found = sandbox.check_for_runs()
    layers = str(found.facts.get("layers", ""))
    detail = f"{found.detail} Layers: {layers}." if found.ok else found.detail
    return Row("sandbox", found.ok, detail, found.remedy, True)


def _backends() -> list[Row]:
    """Each way to confine, whether it is used or not."""
    return [
        Row(f"sandbox {name}", found.ok, found.detail, found.remedy)
        for name, found in sandbox.findings().items()
    ]


def _folder() -> Row:
    folder: Path = settings.M31A.DATA_DIR
    if not (folder / "keys" / "secret").exists():
        place = _nearest(folder)
        ok = os.access(place, os.W_OK | os.X_OK)
        return Row(
            "data folder",
            ok,
            f"{folder} is not made yet; `up` makes it." if ok else f"{place} cannot be written.",
            "" if ok else "Make it writable, or set M31A_DATA_DIR to another folder.",
            True,
        )
    try:
        with tempfile.NamedTemporaryFile(dir=folder / "tmp"):
            mode = folder.stat().st_mode & 0o777
    except OSError as error:
        return Row(
            "data folder",
            False,
            f"{folder} cannot be written: {error.strerror}.",
            "Run as the account that made it, or set M31A_DATA_DIR to another folder.",
            True,
        )
    if mode & 0o077:
        return Row(
            "data folder",
            False,
            f"{folder} is open to other accounts (mode {mode:o}).",
            f"chmod 700 {folder}",
            True,
        )
    return Row("data folder", True, f"{folder}, for this account only.", "", True)


def _nearest(folder: Path) -> Path:
    """The folder itself, or the nearest one above that exists."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def _disk() -> Row:
    place = _nearest(settings.M31A.DATA_DIR)
    usage = shutil.disk_usage(place)
    detail = f"{usage.free / GIB:.1f} of {usage.total / GIB:.1f} GiB are free."
    low = usage.free < LOW_DISK
    remedy = f"Make room on the file system of {place}." if low else ""
    return Row("disk", not low, detail, remedy, usage.free < NO_DISK)


def _database() -> Row:
    if not _has_database():
        return Row("database", True, "There is none yet; `up` makes it.", "", True)
    try:
        if Event._meta.db_table not in connection.introspection.table_names():
            return Row("database", False, "Its tables are missing.", "Run `up`.", True)
        missing = guards.missing(connection)
        mode = _journal_mode()
    except DatabaseError as error:
        return Row(
            "database",
            False,
            f"It does not answer: {error}",
            "Check M31A_DATABASE_URL and the data folder.",
            True,
        )
    if missing:
        return Row(
            "database",
            False,
            f"Triggers that protect the journal are missing: {', '.join(missing)}.",
            "Run `m31a audit verify`, then `python3 manage.py migrate`, which installs them.",
            True,
        )
    if mode not in ("wal", ""):
        return Row(
            "database",
            False,
            f"SQLite is in mode {mode}.",
            "Run `python3 manage.py migrate` while nothing else uses it.",
            True,
        )
    kind = "SQLite in WAL mode" if mode else "PostgreSQL"
    return Row("database", True, f"{kind}; the journal's triggers are in place.", "", True)


def _policy() -> Row:
    """The policy files as they are on disk; which rules are in force stands in the journal."""
    try:
        documents = policies.all_documents()
    except OSError as error:
        remedy = "Let the account that runs the server read it."
        return Row("policy", False, f"Its folder cannot be read: {error.strerror}.", remedy, True)
    faults = [str(fault) for one in documents for fault in one.faults]
    if faults:
        more = f" And {len(faults) - 1} more." if len(faults) > 1 else ""
        remedy = "Mend the files and see with `m31a policy test`."
        return Row("policy", False, f"{faults[0]}.{more}", remedy, True)
    rules = sum(len(one.layer.rules) for one in documents)
    return Row("policy", True, f"{rules} rules in {len(documents)} files.", "", True)


def _has_database() -> bool:
    if connection.vendor != "sqlite":
        return True
    return Path(str(connection.settings_dict["NAME"])).is_file()


def _journal_mode() -> str:
    if connection.vendor != "sqlite":
        return ""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        return str(cursor.fetchone()[0])


def _hint() -> Row:
    """Pages are woken by a datagram; where none can be sent they look once a second."""
    if connection.vendor != "sqlite":
        return Row("hint", True, "LISTEN and NOTIFY of PostgreSQL.")
    place = hint.folder()
    if len(os.fsencode(place)) + len("/4194304.ffff.sock") > hint.LONGEST_PATH:
        return Row(
            "hint",
            False,
            f"{place} is too long a path for a socket; pages poll instead.",
            "Set M31A_DATA_DIR to a shorter path.",
        )
    with tempfile.TemporaryDirectory(dir=place if place.is_dir() else None) as folder:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
                ear.bind(os.path.join(folder, "s"))
        except OSError as error:
            return Row(
                "hint",
                False,
                f"No socket can be made in {place}: {error.strerror}.",
                "Put the data folder on a local file system.",
            )
    return Row("hint", True, "Datagrams wake the pages.")


def _workers() -> Row:
    remedy = "`up` starts workers; `m31a work` is one."
    if not _has_database():
        return Row("workers", False, "None is running.", remedy)
    try:
        live = presence.live()
    except DatabaseError:
        return Row("workers", False, "The database does not say.", remedy)
    if not live:
        return Row("workers", False, "None was seen in the last minute.", remedy)
    busy = sum(1 for worker in live if worker.task)
    return Row("workers", True, f"{len(live)} seen in the last minute, {busy} of them busy.")


def _records() -> Row:
    """Runs that wait for workers of a newer version, where old and new stand side by side."""
    try:
        going = NewerKind.objects.exclude(run__state__in=RUN_TERMINAL).values_list("run", flat=True)
        found = newer.of_all(list(going.distinct())) if _has_database() else {}
    except DatabaseError:
        return Row("records", False, "The database does not say.", "Run `up`, which migrates it.")
    if not found:
        return Row("records", True, "This version can go on with every run.")
    runs = "1 run was" if len(found) == 1 else f"{len(found)} runs were"
    kinds = newer.named(sorted({kind for kinds in found.values() for kind in kinds}))
    said = f"{runs} recorded by a newer version ({kinds}); this one leaves such runs alone."
    return Row("records", False, said, "Start workers of that version: they go on.")


_MODEL = (
    "Set M31A_PROVIDER (and OPENAI_BASE_URL, OPENAI_API_KEY where the server needs them), then "
    "start again with `up`; or name a model with each run. The demo's script needs none."
)


def _providers(ask: bool) -> list[Row]:
    """Not required: a run may name its own, and a script needs none."""
    found = providers.check(os.environ) if ask else providers.describe(os.environ)
    return [
        Row(
            f"provider {status.spec}".strip(),
            status.ready,
            status.detail,
            "" if status.ready else status.remedy or _MODEL,
        )
        for status in found
    ]
