"""Trusted processes of the server itself: fixed programs, clean environment, bounded."""

from __future__ import annotations

import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping

from runtime.core.commands import Exec
from runtime.core.errors import BadInput, Unavailable
from runtime.policy.authorised import Authorised
from runtime.sandbox import environment
from runtime.sandbox.spec import HostResult

OUTPUT_BYTES = 64 << 20
_LINGER_SECONDS = 5.0  # between the end of the output and the end of the process
_CLEAN = {
    "PATH": environment.SYSTEM_PATH,
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
}


def run_host(
    authorised: Authorised[Exec],
    *,
    cwd: str = "/",
    stdin: bytes | None = None,
    stdin_fd: int | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 60.0,
) -> HostResult:
    """Run a program of the runtime's own on the host, unconfined, and wait for it.

    Only what `by_runtime` authorised is accepted. The environment is a fixed one and `env`. Input
    is `stdin`, or what `stdin_fd` gives, or nothing. Its own session, umask 022; whatever is left
    of its process group at the end is killed.

    Raises Unavailable where it cannot be started, exceeds `timeout` seconds or writes more than
    64 MiB; BadInput for arguments that contradict each other.
    """
    if not isinstance(authorised, Authorised) or authorised.source != "runtime":
        raise Unavailable("Only the runtime's own commands are run on the host.")
    if stdin is not None and stdin_fd is not None:
        raise BadInput("Give either stdin or stdin_fd.", field="stdin")
    subject = authorised.subject
    for name, value in (env or {}).items():
        environment.check(name, value)
    source = stdin_fd if stdin_fd is not None else subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            subject.argv(),
            cwd=os.path.normpath(os.path.join(cwd, subject.cwd)),
            env=_CLEAN | dict(subject.env) | dict(env or {}),
            stdin=subprocess.PIPE if stdin is not None else source,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, umask=0o022,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise Unavailable(
            f"{subject.program} cannot be started: {error}.",
            remedy=f"Install it so that it is found in {environment.SYSTEM_PATH}.",
        ) from error
    with process:
        try:
            streams = _converse(process, stdin or b"", time.monotonic() + timeout, subject.program)
            _wait(process, subject.program)
        finally:  # before it is reaped: until then nobody else can have its number
            _end_group(process)
        status = process.wait()
    return HostResult(status, *streams)


def _wait(process: subprocess.Popen[bytes], program: str) -> None:
    handle = os.pidfd_open(process.pid)
    try:
        if not select.select([handle], [], [], _LINGER_SECONDS)[0]:
            raise Unavailable(f"{program} closed its output but did not end; it was killed.")
    finally:
        os.close(handle)


def _converse(
    process: subprocess.Popen[bytes], data: bytes, deadline: float, program: str
) -> tuple[bytes, bytes]:
    """Feed and read at the same time until both outputs have ended."""
    assert process.stdout is not None and process.stderr is not None
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    rest = memoryview(data)
    with selectors.DefaultSelector() as selector:
        for stream in kept:
            selector.register(stream, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        while any(key.fileobj is not process.stdin for key in selector.get_map().values()):
            left = deadline - time.monotonic()
            if left <= 0:
                raise Unavailable(f"{program} did not end in time and was killed.")
            for key, _ in selector.select(left):
                if process.stdin is not None and key.fileobj is process.stdin:
                    try:
                        rest = rest[os.write(key.fd, rest[: 1 << 16]) :]
                    except BrokenPipeError:
                        rest = rest[
                            :0
                        ]  # it does not want more; its status says whether that is bad
                    if not rest:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                stream = process.stdout if key.fileobj is process.stdout else process.stderr
                piece = os.read(key.fd, 1 << 16)
                kept[stream] += piece
                if not piece:
                    selector.unregister(stream)
                if sum(map(len, kept.values())) > OUTPUT_BYTES:
                    raise Unavailable(f"{program} wrote more than {OUTPUT_BYTES} bytes.")
    return bytes(kept[process.stdout]), bytes(kept[process.stderr])


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """The process is the leader of its own session: its group bears its number."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # nothing is left
