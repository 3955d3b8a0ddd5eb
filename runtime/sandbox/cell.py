"""Executing commands through one broker: what a Cage does, apart from proving that it holds."""

from __future__ import annotations

import math
import os
import posixpath
import shutil
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from runtime.core.commands import Command, Exec, Shell
from runtime.core.errors import BadInput, Unavailable
from runtime.policy.authorised import Authorised
from runtime.sandbox import (
    backends,
    cgroups,
    command,
    diagnosis,
    ending,
    environment,
    layout,
    outside,
    portable,
    seatbelt,
    wire,
)
from runtime.sandbox.client import Broker
from runtime.sandbox.prepared import Prepared
from runtime.sandbox.spec import CageSpec, Result

_REQUEST_BYTES = 160 << 10  # one message to the broker; the kernel bounds one argument to 128 KiB
_CWD_BYTES = 4096


class Cell:
    """Commands of one worktree, confined alike. A context manager; usable from several threads.

    The broker starts at the first `run`. Once it is gone, every further run fails: nothing is ever
    executed without it, and a new one must be made.
    """

    def __init__(
        self,
        spec: CageSpec,
        *,
        covers: tuple[layout.Cover, ...] = (),
        backend: str = backends.BUBBLEWRAP,
        noted: Mapping[str, str] | None = None,
    ) -> None:
        """`noted` stands in the attestation of each command, too."""
        self.spec = spec
        self._noted = dict(noted or {})
        self._covers = covers
        self._backend = backend
        self._lock = threading.Lock()
        self._link: Broker | None = None
        self._prepared: Prepared | None = None
        self._facts: dict[str, str | int | bool] = {}
        self._groups: cgroups.Place | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every command and the broker. Afterwards `run` raises Unavailable."""
        with self._lock:
            self._closed = True
            if self._link is not None:
                self._link.close()
            self._clear()

    def _clear(self) -> None:
        """A broker removes the private directory, unless it was killed or never was."""
        if self._prepared is not None and self._prepared.private:
            shutil.rmtree(self._prepared.private, ignore_errors=True)

    @property
    def broker_pid(self) -> int | None:
        """The broker's process id on the host, None before the first run."""
        return self._link.pid if self._link else None

    @property
    def last_words(self) -> str:
        """The end of what the broker complained of; empty where it did not."""
        return self._link.last_words() if self._link else ""

    def run(
        self,
        authorised: Authorised[Command],
        *,
        timeout: float | None = None,
        profile: str = "tool",
        cancel: threading.Event | None = None,
        on_output: command.OnOutput | None = None,
        stdout_to: int | None = None,
        env: Mapping[str, str] | None = None,
        keep: int | None = None,
        hosts: Sequence[str] = (),
    ) -> Result:
        """Execute one command and wait for its end and that of everything it started.

        `timeout` in seconds (default: the spec's). `profile="git"` and `env` are for the runtime's
        own commands. `cancel` ends the command as a timeout does: SIGTERM, 0.3 s, SIGKILL.
        `on_output(stream, data)` sees output as it comes. `stdout_to` receives all of stdout
        instead of the result. `keep` replaces the spec's bytes kept per stream. `hosts`: what it
        may reach through a proxy, as `policy.reach.listed` reads it; without any it has no network.

        Raises BadInput, before anything starts, for a command that cannot be passed on or a cwd
        outside the root; Unavailable where there is no confinement; Refused where the backend
        cannot bound the network to some hosts. A cage that fails later is a
        Result with `failure`.
        """
        subject = _subject(authorised)
        own = authorised.source == "runtime"
        if not own and (profile != "tool" or env is not None):
            raise Unavailable("The git profile and env are for the runtime's own commands only.")
        wall = self.spec.limits.wall_seconds if timeout is None else timeout
        if not wall > 0 or not math.isfinite(wall):
            raise BadInput(f"The timeout {wall!r} is not positive and finite.", field="timeout")
        argv, cwd = _argv(subject), self._cwd(subject.cwd)
        gate = outside.Gate(hosts)
        given = (self.spec.path, dict(subject.env), env or {})
        _check_size(argv, environment.build(*given, gate.env))
        link, prepared = self._start(profile)
        gate.check(str(prepared.facts["backend"]))
        values = environment.build(*given, gate.env)
        request: dict[str, object] = {
            "argv": argv,
            "cwd": os.fsencode(prepared.place(cwd)),
            "env": environment.placed(values, prepared),
            "wall": wall,
            "profile": profile,
            "listens": gate.listens,
        }
        following: command.Following = {
            "wall": wall,
            "keep": self.spec.limits.output_bytes if keep is None else keep,
            "cancel": cancel,
            "on_output": on_output,
            "stdout_to": stdout_to,
        }
        if link is not None:
            with gate, cgroups.Group(self._groups, self.spec.limits) as group:
                done = command.exchange(
                    link, request, most=self.spec.limits.total_output_bytes,
                    on_listener=gate.serve, group=group.fds, **following,
                )  # fmt: skip
            return self._result(subject, done, gate, group.account)
        wrapped = seatbelt.argv(
            prepared.profiles[profile], portable.bounded(argv, self.spec.limits)
        )
        place, variables = prepared.place(cwd), environment.placed(values, prepared)
        done = portable.exchange(wrapped, variables, place, **following)
        return self._result(subject, done, gate, cgroups.Account())

    def _cwd(self, cwd: str) -> str:
        """A directory in the cage: relative to the root and inside it, by name at least. Links are
        followed inside the cage, where nothing but the cage is to be found."""
        parts = cwd.split("/")
        if len(cwd) > _CWD_BYTES or cwd.startswith("/") or ".." in parts or "\0" in cwd:
            raise BadInput(
                f"The working directory {cwd!r} is not inside the workspace.",
                remedy="Give a path relative to the workspace's root, without '..'.",
                field="cwd",
            )
        return posixpath.normpath(posixpath.join(self.spec.root, cwd))

    def place(self, target: str) -> str:
        """Where commands find what the spec puts at `target`: there, or, under a backend that
        mounts nothing, where it really is. Starts the broker. Raises as `run` does."""
        return self._start("tool")[1].place(target)

    def _prove(self) -> str:
        """Called once before the broker starts: the backend to use. Raises Unavailable where
        nothing may run."""
        return self._backend

    def _prepare(self, backend: str) -> Prepared:
        return backends.prepare(backend, self.spec, self._covers)

    def _start(self, profile: str) -> tuple[Broker | None, Prepared]:
        if profile not in layout.PROFILES:
            raise BadInput(f"There is no profile {profile!r}.", field="profile")
        with self._lock:
            if self._closed:
                raise Unavailable("This cage is closed.", remedy="Make a new one.")
            if self._prepared is None or (self._link is None and not self._prepared.profiles):
                backend = self._prove()
                if os.geteuid() == 0 and not self.spec.uid:
                    raise Unavailable(
                        "The server runs as root and the cage names no account for its commands.",
                        remedy="Give an account of the range M31A_UID_RANGE.",
                        field="uid",
                    )
                self._prepared = self._prepare(backend)
                self._facts = self._prepared.facts | {"uid": os.geteuid()}
                if self._prepared.profiles:  # no broker
                    return None, self._prepared
                try:
                    self._groups = cgroups.find()
                    self._link = Broker(
                        self._prepared, self.spec.root, self.spec.limits, self.spec.uid,
                        self.spec.gid, self.spec.label,
                    )  # fmt: skip
                except BaseException:
                    self._clear()
                    self._prepared = None
                    raise
                counts = "io-accounting" if self._link.counts_writes else "file-size-only"
                self._facts = self._prepared.facts | {
                    "uid": self._link.uid,
                    "written_limit": counts,
                    **cgroups.mechanisms(self._groups, str(self._prepared.facts["process_limit"])),
                }
            return self._link, self._prepared

    def _result(
        self,
        subject: Command,
        done: command.Exchange,
        gate: outside.Gate,
        account: cgroups.Account,
    ) -> Result:
        end = ending.judge(done.verdict, account, self.spec.limits)
        verdict, stderr = end.verdict, done.stderr.bytes()
        failure = None
        if verdict.reason == wire.BROKEN:
            failure = f"The command was not completed: {verdict.text}."
        elif verdict.code is None and verdict.reason == wire.ENDED:
            failure = diagnosis.failure(verdict.text.encode() or stderr, subject)
            stderr = b""  # it was bubblewrap's; the program never ran
        return Result(
            status=end.status,
            signal=end.signal,
            timed_out=verdict.reason == wire.TIMED_OUT,
            cancelled=verdict.reason == wire.CANCELLED,
            limit=end.limit,
            stdout=done.stdout.bytes(),
            stderr=stderr,
            stdout_bytes=done.stdout.total + done.sent,
            stderr_bytes=done.stderr.total if stderr or not failure else 0,
            truncated=bool(done.stdout.cut or done.stderr.cut),
            duration_ms=round(done.seconds * 1000),
            cpu_ms=verdict.cpu_ms,
            peak_memory=verdict.peak_memory,
            attestation=self._facts | self._noted | gate.facts | _session(verdict),
            failure=failure,
            stdout_head=len(done.stdout.head),
            stderr_head=len(done.stderr.head) if stderr else 0,
            contacts=gate.contacts,
        )


def _session(verdict: command.Verdict) -> dict[str, str | int | bool]:
    """Whose the namespaces were, where that is not the usual."""
    return {"session": "kept, as new"} if verdict.shared else {}


def _subject(authorised: Authorised[Command]) -> Command:
    """The command, if somebody has a right to it."""
    if not isinstance(authorised, Authorised) or not isinstance(authorised.subject, Exec | Shell):
        raise Unavailable("Only an authorised command is executed; this is not one.")
    return authorised.subject


def _argv(subject: Command) -> list[bytes]:
    words = subject.argv()
    if not words[0]:
        raise BadInput("The program has no name.", field="program")
    if any("\0" in word for word in words):
        raise BadInput("A NUL cannot be part of a command.", field="args")
    try:
        return [os.fsencode(word) for word in words]
    except UnicodeEncodeError as error:
        raise BadInput(f"The command cannot be encoded: {error}", field="args") from error


def _check_size(argv: list[bytes], env: dict[bytes, bytes]) -> None:
    size = sum(map(len, argv)) + sum(len(name) + len(value) for name, value in env.items())
    if size + 16 * (len(argv) + len(env)) > _REQUEST_BYTES or max(map(len, argv)) >= 128 << 10:
        raise BadInput(
            f"The command has {size} bytes of arguments and environment; at most"
            f" {_REQUEST_BYTES} can be passed, 131071 in one argument.",
            remedy="Put the text into a file.",
            field="args",
        )
