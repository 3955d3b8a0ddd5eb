"""`m31a up`: one supervisor for the web server, the cluster and the reconciler.

In order:
1. open the port, so that a port in use stops everything before anything was made;
2. prepare the data folder and lock it: a second supervisor says who holds it;
3. end what an earlier supervisor left, bring the database up to date;
4. start the children, wait for `/healthz`, print a sign-in link;
5. watch: start again what died, kill a cluster that hangs, until a signal;
6. stop: ask the workers to end at the next step, everything else at once, and after
   three and a half seconds kill what is left.
"""

from __future__ import annotations

import http.client
import logging
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import psutil
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections, connections

from runtime.gating import policies
from runtime.people import service as people
from runtime.worker import address, clean, death, leftovers, shutdown
from runtime.worker.canary import Watch
from runtime.worker.child import Child, GivenUp
from runtime.worker.folder import serves
from runtime.worker.reconcile import NUDGE

log = logging.getLogger(__name__)

TICK_SECONDS = 0.25
READY_SECONDS = 60.0
STOP_SECONDS = 3.5
CLUSTER_GRACE_SECONDS = 5.0
"""How long a cluster that hangs may take to end before it is killed."""


class Supervisor:
    """The children of one `up`, from their start to their end."""

    def __init__(self, listener: socket.socket, command: list[str], folder: Path) -> None:
        self._listener, self._folder = listener, folder
        env = clean.environment(os.environ)
        kept = listener.fileno()

        def child(name: str, role: str, *options: str, keep: tuple[int, ...] = ()) -> Child:
            return Child(name, [*command, name, *options], env | {"M31A_ROLE": role}, keep)

        self._web = child("web", "web", "--fd", str(kept), keep=(kept,))
        self._cluster = child("cluster", "worker")
        self._reconciler = child("reconcile", "reconciler")
        self._children = [self._web, self._cluster, self._reconciler]
        self._watch = Watch()
        self._cluster_deadline: float | None = None
        self._signals = 0
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self, announce: Callable[[], None]) -> int:
        """Start, announce when the site answers, watch, stop. Returns the exit code."""
        self._listen_for_signals()
        death.adopt_orphans()
        try:
            for child in self._children:
                child.start()
            self._record()
            if not self._until_ready():
                return 0 if self._signals else 1
            announce()
            self._keep_running()
        except GivenUp as failure:
            print(f"{failure} Everything is stopped; the reason stands above.", file=sys.stderr)
            return 1
        finally:
            self._stop()
        return 0

    def _listen_for_signals(self) -> None:
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup sets it
                signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1

    def _pause(self, seconds: float) -> None:
        """Wait; a signal ends it."""
        ready, _, _ = select.select([self._read], [], [], max(0.0, seconds))
        if ready:
            os.read(self._read, 4096)

    def _record(self) -> None:
        leftovers.record(self._folder, [child.pid for child in self._children if child.pid])

    def _until_ready(self) -> bool:
        deadline = time.monotonic() + READY_SECONDS
        while not self._signals and time.monotonic() < deadline:
            if answers(self._listener):
                return True
            self._look_after()
            self._pause(0.05)
        if not self._signals:
            print(f"/healthz did not answer within {READY_SECONDS:.0f} seconds.", file=sys.stderr)
        return False

    def _keep_running(self) -> None:
        while not self._signals:
            self._look_after()
            self._look_at_cluster()
            self._pause(TICK_SECONDS)

    def _look_after(self) -> None:
        """Start again what died, and have the reconciler take over what a dead worker held."""
        for child in self._children:
            event = child.check()
            if not event:
                continue
            log.warning(
                "%s %s.", child.name, "ended; it is started again" if event == "died" else event
            )
            self._record()
            if child is self._cluster:
                self._cluster_deadline = None
                self._watch.reset()
                self._reconciler.signal_process(NUDGE)
        self._collect_orphans()

    def _look_at_cluster(self) -> None:
        """End a cluster that takes no messages: first by request, then by force."""
        now = time.monotonic()
        if self._cluster_deadline is not None:
            if now > self._cluster_deadline:
                self._cluster.signal_group(signal.SIGKILL)
                self._cluster_deadline = None
        elif not self._cluster.ended() and self._watch.hangs():
            log.error("The cluster takes no messages; it is started again.")
            self._cluster.signal_group(shutdown.SIGNAL)
            self._cluster.signal_process(signal.SIGTERM)
            self._cluster_deadline = now + CLUSTER_GRACE_SECONDS

    def _collect_orphans(self) -> None:
        """Wait for adopted descendants that have ended."""
        own = {child.pid for child in self._children}
        for process in psutil.Process().children():
            if process.pid in own:
                continue
            try:
                if process.status() == psutil.STATUS_ZOMBIE:
                    os.waitpid(process.pid, os.WNOHANG)
            except (psutil.NoSuchProcess, ChildProcessError):
                continue

    def _stop(self) -> None:
        """End everything, within `STOP_SECONDS`; a second signal kills at once."""
        asked = self._signals
        deadline = time.monotonic() + STOP_SECONDS
        self._cluster.signal_group(shutdown.SIGNAL)
        for child in self._children:
            child.signal_process(signal.SIGTERM)
        while not all(child.ended() for child in self._children):
            if time.monotonic() > deadline or self._signals > max(1, asked):
                break
            self._pause(0.05)
        for child in self._children:
            child.signal_group(signal.SIGKILL)
            child.wait(1.0)
        strays = psutil.Process().children(recursive=True)
        leftovers.end(strays, 0)
        self._collect_orphans()
        leftovers.forget(self._folder)
        connections.close_all()


def answers(listener: socket.socket) -> bool:
    """Whether `/healthz` says that the site is well."""
    host, port = address.nearby(listener)
    link = http.client.HTTPConnection(host, port, timeout=2)
    headers = {"Host": "localhost", "X-Forwarded-Proto": "https" if settings.M31A.HTTPS else "http"}
    try:
        link.request("GET", "/healthz", headers=headers)
        return link.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        link.close()


def sign_in_link(base: str) -> str:
    """A one-time address for the default person."""
    try:
        close_old_connections()
        return people.make_link(people.default_user(), base)
    except DatabaseError as error:
        log.error("No sign-in link could be made: %s", error)
        return base
    finally:
        connections.close_all()


def up(listener: socket.socket, command: list[str], folder: Path) -> int:
    """Run everything on an open socket and a prepared, locked data folder, until a signal.

    `command` is how this program is called; the name of a child's command is put behind it.
    Raises `PolicyFault` where the rules cannot be used: nothing is started then.
    """
    policies.require()

    def announce() -> None:
        base = address.public_url(
            listener, https=settings.M31A.HTTPS, names=list(settings.M31A.ALLOWED_HOSTS)
        )
        serves(folder, base)
        print(f"M31A is ready. Sign in (once, within 15 minutes): {sign_in_link(base)}", flush=True)

    return Supervisor(listener, command, folder).run(announce)
