"""A real Daphne on loopback, over this process's data folder. Stopped by pid, waited for."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
from django.conf import settings

ROOT = Path(__file__).resolve().parents[2]


class Server:
    """The web process and its address."""

    def __init__(self, urls: str, **limits: float) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._socket.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"
        self._folder = settings.M31A.DATA_DIR
        # The server reads the key from here; sessions of this process must be valid there.
        (self._folder / "keys" / "secret").write_text(settings.SECRET_KEY)
        self._limits = limits
        self._urls = urls
        self.log = self._folder / "daphne.log"
        self.start()

    def start(self) -> None:
        """Start on the same address; a page that was open before finds it again."""
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "M31A_DATA_DIR": str(self._folder),
            "M31A_ROLE": "web",
            "TEST_URLS": self._urls,
            "DJANGO_SETTINGS_MODULE": "tests.web.live_settings",
            **{f"LIVE_{name.upper()}": str(value) for name, value in self._limits.items()},
        }
        command = [sys.executable, "-m", "daphne", "--fd", str(self._socket.fileno())]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *command,
                    "--application-close-timeout",
                    "2",
                    "m31a_site.asgi:application",
                ],
                env=environment,
                cwd=ROOT,
                stdout=log,
                stderr=log,
                pass_fds=[self._socket.fileno()],
            )
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(f"{self.url}/healthz", timeout=50).close()

    @property
    def process(self) -> psutil.Process:
        """The web process, to look at."""
        return psutil.Process(self._process.pid)

    def stop(self) -> None:
        """End it; the address stays ours."""
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """End it for good."""
        self.stop()
        self._socket.close()


@contextlib.contextmanager
def serving(urls: str = "m31a_site.urls", **limits: float) -> Iterator[Server]:
    """A server for the time of a test."""
    server = Server(urls, **limits)
    try:
        yield server
    finally:
        server.close()
