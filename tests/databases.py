"""Databases for tests: made once, then copied for each test.

The journal's triggers refuse to empty its table, so a test never resets by deleting.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings
from django.core.management import call_command
from django.db import connections

from m31a_site import data, postgres

WAITS = 20
"""Seconds that a worker waits for others' writes; tests are workers, too."""
CONFIG = dict(settings.DATABASES["default"])
CONFIG["OPTIONS"] = {**CONFIG["OPTIONS"], "timeout": WAITS}
"""The product's own configuration; `use` changes the settings, so it is kept from before."""

LEASE: int = settings.M31A.LEASE_SECONDS
"""Of the product, too: tests shorten theirs."""

PORTS = 5
"""How many are tried: another may take one between its choice and its use."""


class Template(Protocol):
    """Something that can be had fresh again and again."""

    def renew(self) -> None: ...

    def leave(self) -> None: ...


def use(config: dict[str, Any]) -> None:
    """Point the default connection of this process at another database."""
    connections.close_all()
    connections.settings["default"] = connections.configure_settings({"default": config})["default"]
    if hasattr(connections._connections, "default"):
        del connections["default"]


class Sqlite:
    """The file in the data folder, copied from a migrated one."""

    def __init__(self) -> None:
        data.prepare(settings.M31A.DATA_DIR)
        self._config = dict(CONFIG)
        self._path = Path(str(self._config["NAME"]))
        self._template = self._path.with_suffix(".template")
        use(self._config)
        call_command("migrate", verbosity=0, interactive=False)
        connections.close_all()
        shutil.copyfile(self._path, self._template)

    def renew(self) -> None:
        """Start from the template."""
        use(self._config)
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        shutil.copyfile(self._template, self._path)

    def choose(self) -> None:
        """Make it the one that is used, as it is."""
        use(self._config)

    def leave(self) -> None:
        """Let go of the file."""
        connections.close_all()


class Server:
    """A PostgreSQL server on a socket and a loopback port of its own."""

    def __init__(self, folder: str, port: int, process: subprocess.Popen[bytes]) -> None:
        self.folder, self.port, self._process = folder, port, process

    @classmethod
    def start(cls) -> Server | None:
        """Start one, or none where it is not installed."""
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not found:
            return None
        binaries = found[-1].parent
        folder = tempfile.mkdtemp(prefix="m31a-pg-")
        account = _account()
        if account:
            shutil.chown(folder, account, account)
        as_account = ["setpriv", "--reuid", account, "--regid", account, "--clear-groups"]
        lead = as_account if account else []
        subprocess.run(
            [*lead, binaries / "initdb", "-D", f"{folder}/db", "-A", "trust", "-U", "m31a", "-E",
             "UTF8", "--no-sync"],
            check=True, capture_output=True, cwd="/",
        )  # fmt: skip
        for _ in range(PORTS):
            port = _free_port()
            command = [*lead, binaries / "postgres", "-D", f"{folder}/db", "-h", "127.0.0.1",
                       "-p", str(port), "-k", folder, "-c", "fsync=off"]  # fmt: skip
            server = cls(folder, port, _begun(command))
            if server._answers():
                return server
        server.stop()
        raise RuntimeError(f"PostgreSQL ended at once on {PORTS} ports")

    def _answers(self) -> bool:
        """Wait until it does. False where it has ended, as it does where others have its port."""
        import psycopg

        # By its own socket: on the port may be another server.
        own = f"postgresql://m31a@/postgres?host={self.folder}&port={self.port}"
        deadline = time.monotonic() + 60
        while self._process.poll() is None:
            try:
                psycopg.connect(own, connect_timeout=2).close()
                return True
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    self.stop()
                    raise
                time.sleep(0.05)
        return False

    def address(self, name: str) -> str:
        """How to reach one of its databases."""
        return f"postgresql://m31a@127.0.0.1:{self.port}/{name}"

    def restart(self) -> None:
        """End it at once, as a crash does, and start it again on the same files."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(20)
        self._process = _begun(self._process.args)
        assert self._answers(), "PostgreSQL did not come back"

    def stop(self) -> None:
        """End the server by its process id and remove its files."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Postgres:
    """A database of the server, copied from a migrated one."""

    def __init__(self, server: Server) -> None:
        data.prepare(settings.M31A.DATA_DIR)
        self.server = server
        self._sql("postgres", "CREATE DATABASE template_m31a")
        use(_config(server.address("template_m31a")))
        call_command("migrate", verbosity=0, interactive=False)
        connections.close_all()

    def _sql(self, database: str, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.server.address(database), autocommit=True) as connection:
            connection.execute(statement)

    def renew(self) -> None:
        """Start from the template."""
        connections.close_all()
        self._sql("postgres", "DROP DATABASE IF EXISTS test_m31a WITH (FORCE)")
        self._sql("postgres", "CREATE DATABASE test_m31a TEMPLATE template_m31a")
        self.choose()

    def choose(self) -> None:
        """Make it the one that is used, as it is."""
        use(_config(self.server.address("test_m31a")))

    def leave(self) -> None:
        """Let go of the database."""
        connections.close_all()


def _config(url: str) -> dict[str, Any]:
    """The product's own configuration of a worker for a database."""
    return postgres.configuration(url, "worker", WAITS, LEASE)


def _account() -> str:
    """The server refuses to run as root."""
    return "postgres" if os.geteuid() == 0 else ""


def _begun(command: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
