"""A place to try escapes from: a directory with a repository, and beside it everything that must stay
out of reach, all of it of the account that the commands run under. For pytest and plain scripts."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import resource
import secrets
import shutil
import socket
import sqlite3
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable

ACCOUNT = 61235
"""Owns everything when the tests were started as root."""
KEPT = {".git", "README", "host.sock"}


class Ground:
    """`ws` is the directory of the commands, `host` what lies beside it. `close` it."""

    def __init__(self) -> None:
        self.account = ACCOUNT if os.geteuid() == 0 else os.geteuid()
        self.secret = f"canary-{secrets.token_hex(8)}"
        # Not below /tmp, which is hidden from root's commands in more than one way.
        place = "/var/tmp" if os.geteuid() == 0 else None
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="m31a-ground-", dir=place))
        os.chmod(self.base, 0o755)
        self.host, self.ws = f"{self.base}/host", f"{self.base}/ws"
        self.blob = self._files()
        self.listeners: list[socket.socket] = []
        self.waiting: list[threading.Thread] = []
        self.closed = False
        self.hits: list[str] = []
        self._sockets()
        self.key = 0x31A00000 | (os.getpid() & 0xFFFFF)
        self.segment = ctypes.CDLL(None).shmget(self.key, 4096, 0o1666)
        self.leak = os.open(f"{self.host}/secret.txt", os.O_RDONLY)
        self.leak_folder = os.open(self.host, os.O_RDONLY)
        for fd in (self.leak, self.leak_folder):
            os.set_inheritable(fd, True)
        self._own(self.base)
        shutil.copytree(f"{self.ws}/.git", f"{self.base}/git")
        shutil.copytree(self.host, f"{self.base}/kept", ignore=lambda *_: ["app.sock", "d.sock"])
        self._own(self.base)
        os.chmod(self.base, 0o755)
        self.decoy = self._start_decoy()
        self.before = self.state()

    def _files(self) -> str:
        for name in ("app", "home/.ssh", "runs/other/tree", "repository", "empty"):
            os.makedirs(f"{self.host}/{name}")
        os.mkdir(self.ws)
        for name in ("secret.txt", "app/.env", "home/.ssh/id_ed25519", "home/.netrc",
                     "runs/other/tree/notes.txt", "repository/secret.txt"):  # fmt: skip
            self._write(f"{self.host}/{name}", f"SECRET_KEY={self.secret}\n", 0o600)
        self._write(f"{self.host}/tool", f"#!/bin/sh\necho {self.secret}\n", 0o755)
        self.temporary = f"/tmp/m31a-other-{secrets.token_hex(6)}"
        self.shared = f"/dev/shm/m31a-other-{secrets.token_hex(6)}"
        for path in (self.temporary, self.shared):
            self._write(path, self.secret, 0o644)
            os.chown(path, self.account, self.account)
        with sqlite3.connect(f"{self.host}/app/db.sqlite3") as base:
            base.execute("create table s(v)")
            base.execute("insert into s values(?)", (self.secret,))
        base.close()
        self._git(f"{self.host}/repository", "secret.txt")
        self._write(f"{self.ws}/README", "hello\n", 0o644)
        self._git(self.ws, "README")
        os.makedirs(f"{self.ws}/.git/hooks", exist_ok=True)
        return self._run(f"{self.host}/repository", "rev-parse", "HEAD:secret.txt")

    @staticmethod
    def _write(path: str, text: str, mode: int) -> None:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, mode)

    def _run(self, where: str, *words: str) -> str:
        env = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
               "HOME": self.host}  # fmt: skip
        name = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.templateDir=")
        done = subprocess.run(
            ["git", *name, *words], cwd=where, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def _git(self, where: str, name: str) -> None:
        self._run(where, "init", "-q")
        self._run(where, "add", name)
        self._run(where, "commit", "-qm", "init")

    def _own(self, top: str) -> None:
        for where, folders, files in os.walk(top):
            for name in (".", *folders, *files):
                os.lchown(os.path.join(where, name), self.account, self.account)

    # -- services of the machine

    def _sockets(self) -> None:
        tcp = socket.create_server(("127.0.0.1", 0))
        wide = socket.create_server(("0.0.0.0", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        abstract, by_path, inside = (socket.socket(socket.AF_UNIX) for _ in range(3))
        datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.abstract = f"m31a-{secrets.token_hex(6)}"
        for one, at in ((abstract, f"\0{self.abstract}"), (by_path, f"{self.host}/app.sock"),
                        (inside, f"{self.ws}/host.sock"), (datagrams, f"{self.host}/d.sock")):  # fmt: skip
            one.bind(at)
        self.port, self.wide, self.udp = (one.getsockname()[1] for one in (tcp, wide, udp))
        streams = {"tcp": tcp, "wide": wide, "abstract": abstract, "path": by_path, "ws": inside}
        self.port6 = 0
        try:
            six = socket.create_server(("::1", 0), family=socket.AF_INET6)
            self.port6 = six.getsockname()[1]
            streams["six"] = six
        except OSError:
            self.port6 = 0
        for name, one in streams.items():
            if name != "tcp":
                one.listen()
            self._listen(name, one, self._accept)
        for name, one in (("udp", udp), ("datagrams", datagrams)):
            self._listen(name, one, self._receive)

    def _listen(
        self, name: str, one: socket.socket, loop: Callable[[str, socket.socket], None]
    ) -> None:
        self.listeners.append(one)
        self.waiting.append(threading.Thread(target=loop, args=(name, one), daemon=True))
        self.waiting[-1].start()

    def _accept(self, name: str, one: socket.socket) -> None:
        while True:
            try:
                peer, _ = one.accept()
            except OSError:
                return
            self.hits.append(name)
            with contextlib.suppress(OSError):
                peer.sendall(self.secret.encode())
            peer.close()

    def _receive(self, name: str, one: socket.socket) -> None:
        while True:
            try:
                _, peer = one.recvfrom(99)
                if self.closed:
                    return
                self.hits.append(name)
                if peer:
                    one.sendto(self.secret.encode(), peer)
            except OSError:
                return

    def _start_decoy(self) -> subprocess.Popen[bytes]:
        as_account = {"user": self.account, "group": self.account} if os.geteuid() == 0 else {}
        command = f"exec sleep 3600 3<{self.host}/secret.txt"
        return subprocess.Popen(
            ["/bin/sh", "-c", command], env={"SECRET": self.secret}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_account,
        )  # fmt: skip

    # -- what probes are told, and what is looked at afterwards

    def told(self, text: str, tag: str) -> str:
        """A probe's words with the places of this ground."""
        words = {
            "HOST": self.host, "WS": self.ws, "PORT": self.port, "UPORT": self.udp,
            "PORT6": self.port6, "ABS": self.abstract, "SOCK": f"{self.host}/app.sock",
            "SOCKD": f"{self.host}/d.sock", "PID": self.decoy.pid, "TMPFILE": self.temporary,
            "SHM": self.shared, "TAG": tag, "BLOB": self.blob, "KEY": self.key, "FREE": 39787,
            "ADDRESS": address(),
        }  # fmt: skip
        for name, value in words.items():
            text = text.replace("{" + name + "}", str(value))
        return text

    def state(self) -> dict[str, object]:
        """Everything outside that must stay as it is."""
        pid = self.decoy.pid
        try:
            stopped = _stat(pid)[0] in "Tt"
            decoy = (os.getpriority(os.PRIO_PROCESS, pid), resource.prlimit(pid, resource.RLIMIT_NOFILE),
                     frozenset(os.sched_getaffinity(pid)), os.sched_getscheduler(pid), stopped)  # fmt: skip
        except OSError:
            decoy = ()
        return {
            "decoy": self.decoy.poll() is None and decoy,
            "host": tree(self.host),
            "repository": tree(f"{self.ws}/.git"),
            "beside": frozenset(os.listdir(self.base)),
        }

    def restore(self, *, shaken: bool = False) -> None:
        """Back to the beginning, whatever a probe did. `shaken`: one got through, and the decoy may
        be about to end."""
        if shaken:
            self.decoy.kill()
            self.decoy.wait()
        if self.decoy.poll() is not None:
            self.decoy = self._start_decoy()
        for name in os.listdir(os.fsencode(self.ws)):
            if name.decode("utf-8", "replace") not in KEPT:
                _remove(os.path.join(os.fsencode(self.ws), name))
        for good, place in (
            (f"{self.base}/git", f"{self.ws}/.git"),
            (f"{self.base}/kept", self.host),
        ):
            if tree(place) != self.before["repository" if place.endswith(".git") else "host"]:
                for name in os.listdir(place) if os.path.isdir(place) else ():
                    if not name.endswith(".sock"):
                        _remove(os.fsencode(f"{place}/{name}"))
                shutil.copytree(good, place, dirs_exist_ok=True)
                self._own(place)
        for name in os.listdir(self.base):
            if name not in {"host", "ws", "git", "kept"}:
                _remove(os.fsencode(f"{self.base}/{name}"))
        self.hits.clear()
        self.before = self.state()

    def close(self) -> None:
        """End what was started and remove what was made."""
        self.decoy.kill()
        self.decoy.wait()
        # Closed under a thread that waits, its number is another socket's a moment later.
        self.closed = True
        for one in self.listeners:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self.waiting:
            thread.join(30)
            assert not thread.is_alive()
        for one in self.listeners:
            one.close()
        for fd in (self.leak, self.leak_folder):
            os.close(fd)
        ctypes.CDLL(None).shmctl(self.segment, 0, None)
        for path in (self.temporary, self.shared):
            os.unlink(path)
        _remove(os.fsencode(self.base))


def tree(top: str) -> frozenset[tuple[object, ...]]:
    """Names, modes, owners, times and contents of everything below."""
    found = []
    for where, folders, files in os.walk(top):
        for name in (".", *folders, *files):
            path = os.path.normpath(os.path.join(where, name))
            about = os.lstat(path)
            content = b""
            if stat.S_ISREG(about.st_mode):
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).digest()
            row = (os.path.relpath(path, top), about.st_mode, about.st_uid, about.st_mtime_ns,
                   tuple(os.listxattr(path, follow_symlinks=False)), content)  # fmt: skip
            found.append(row)
    return frozenset(found)


def address() -> str:
    """An address of this machine that is not loopback's, or one that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
            return str(one.getsockname()[0])
        except OSError:
            return "192.0.2.1"


def _stat(pid: int) -> list[str]:
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        return file.read().rpartition(")")[2].split()


def _remove(path: bytes) -> None:
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
    elif subprocess.run(
        [b"rm", b"-rf", b"--", path], stderr=subprocess.DEVNULL, check=False
    ).returncode:
        subprocess.run([b"chmod", b"-R", b"u+rwX", b"--", path], check=False)
        subprocess.run([b"rm", b"-rf", b"--", path], check=False)
