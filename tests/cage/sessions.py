"""Commands that run in a kept session, and brokers whose text was changed to prove what it needs."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from cage_making import Hall, tag

from runtime.core.commands import Command, Exec, Shell
from runtime.policy.authorised import Authorised, by_operator
from runtime.sandbox import Result, client

PROGRAM = client._PROGRAM


class Runner(Protocol):
    """A cage, or what makes one for each command."""

    def run(self, authorised: Authorised[Command], **more: Any) -> Result: ...


def is_kept(result: Result) -> bool:
    """Whether it ran where others had run before."""
    return "session" in result.attestation


def stands(cage: Runner, seconds: float = 20.0) -> None:
    """Wait until a session is there for the next command."""
    end = time.monotonic() + seconds
    while not is_kept(cage.run(by_operator(Exec("true"), "test"))):
        assert time.monotonic() < end, "no session was made"
        time.sleep(0.02)


def place(cage: Runner) -> str:
    """Which namespaces a command gets: by the start of their first process, in ticks. Their own
    numbers are used again."""
    ask = by_operator(Shell("cut -d' ' -f22 /proc/1/stat"), "test")
    return cage.run(ask).text().strip()


@contextmanager
def held(hall: Hall, then: str = "true") -> Iterator[list[Result]]:
    """A command that has begun, and goes on with `then` when this is left; then its result is there."""
    found: list[Result] = []
    begun, go = threading.Event(), f"go-{tag()}"
    script = f"echo begun; while [ ! -e {go} ]; do sleep 0.02; done; {then}"
    thread = threading.Thread(
        target=lambda: found.append(hall.sh(script, on_output=lambda *_: begun.set()))
    )
    thread.start()
    try:
        assert begun.wait(20), "the command did not begin"
        yield found
    finally:
        Path(hall.tree, go).touch()
        thread.join()


class Kept:
    """Each command in a session that others have used."""

    def __init__(self, cage: Runner) -> None:
        self.cage = cage

    def run(self, authorised: Authorised[Command], **more: Any) -> Result:
        """Wait for one first."""
        stands(self.cage)
        return self.cage.run(authorised, **more)


@contextmanager
def altered(folder: Path, *changes: tuple[str, str, str]) -> Iterator[None]:
    """Brokers made meanwhile have a changed text: (module, old, new)."""
    place = folder / "runtime" / "sandbox"
    source = os.path.dirname(PROGRAM)
    unread = shutil.ignore_patterns("__pycache__")
    # A second try finds what the first one made.
    shutil.copytree(source, place, ignore=unread, dirs_exist_ok=True)
    for module, old, new in changes:
        path = place / f"{module}.py"
        text = path.read_text()
        assert text.count(old) == 1, f"{module}.py has {text.count(old)} of {old!r}"
        path.write_text(text.replace(old, new))
    client._PROGRAM = str(place / "broker.py")
    try:
        yield
    finally:
        client._PROGRAM = PROGRAM
