"""Cages with one wall taken away on purpose: what a change of the profile could do by accident."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from dataclasses import replace

from ground import Ground

from runtime.sandbox import Limits, OneShot, landlock
from runtime.sandbox.cell import Cell
from runtime.sandbox.layout import Cover
from runtime.sandbox.prepared import Prepared
from runtime.sandbox.seccomp import ALLOW
from runtime.sandbox.spec import CageSpec

Change = Callable[[Prepared], Prepared]
ALLOW_ALL = struct.pack("=HBBI", 0x06, 0, 0, ALLOW)


class Weakened(Cell):
    """A cell whose set-up is changed before the broker gets it."""

    def __init__(
        self, spec: CageSpec, change: Change, covers: tuple[Cover, ...], backend: str = "bubblewrap"
    ) -> None:
        super().__init__(spec, covers=covers, backend=backend)
        self._change = change

    def _prepare(self, backend: str) -> Prepared:
        return self._change(super()._prepare(backend))


class WeakShot(OneShot):
    """Commands in a directory as it is, in a weakened cage."""

    def __init__(
        self,
        root: str,
        change: Change,
        *,
        limits: Limits,
        backend: str = "bubblewrap",
        keep: Callable[[Cover], bool] = lambda _: True,
    ) -> None:
        super().__init__(root, limits=limits)
        self._change, self._backend, self._keep = change, backend, keep

    def _make(self) -> Cell:  # type: ignore[override]
        whole = super()._make()
        covers = tuple(filter(self._keep, whole._covers))
        return Weakened(whole.spec, self._change, covers, self._backend)


def words(change: Callable[[list[str]], list[str]]) -> Change:
    """A change of bubblewrap's arguments, in every profile."""

    def apply(prepared: Prepared) -> Prepared:
        made = {}
        for profile, text in prepared.arguments.items():
            before = [os.fsdecode(word) for word in text.split(b"\0")[:-1]]
            after = change(list(before))
            assert after != before, "the change has become none"
            made[profile] = b"".join(os.fsencode(word) + b"\0" for word in after)
        return replace(prepared, arguments=made)

    return apply


def without(*row: str) -> Callable[[list[str]], list[str]]:
    """Leave out every occurrence of some words in a row."""

    def change(said: list[str]) -> list[str]:
        found, at = [], 0
        while at < len(said):
            if tuple(said[at : at + len(row)]) == row:
                at += len(row)
            else:
                found.append(said[at])
                at += 1
        return found

    return change


def instead(old: tuple[str, ...], new: tuple[str, ...]) -> Callable[[list[str]], list[str]]:
    """Other words in the place of some."""

    def change(said: list[str]) -> list[str]:
        for at in range(len(said)):
            if tuple(said[at : at + len(old)]) == old:
                return [*said[:at], *new, *said[at + len(old) :]]
        raise AssertionError(f"no {old}")

    return change


def chain(*steps: Callable[[list[str]], list[str]]) -> Callable[[list[str]], list[str]]:
    """One change after the other."""

    def change(said: list[str]) -> list[str]:
        for step in steps:
            said = step(said)
        return said

    return change


def unsized(said: list[str]) -> list[str]:
    """File systems in memory without a bound."""
    return [word for at, word in enumerate(said) if "--size" not in said[max(0, at - 1) : at + 1]]


def whole_host(said: list[str]) -> list[str]:
    """The machine's own tree, read-only, as many do it."""
    end = said.index("--proc")
    start = next(at for at, word in enumerate(said) if word in ("--symlink", "--ro-bind"))
    said = [*said[:start], "--ro-bind", "/", "/", *said[end:]]
    for at, word in enumerate(said):
        if word == "--ro-bind" and said[at + 2] == "/etc":
            del said[at : at + 3]
            break
    for place in ("/tmp", "/home/agent"):
        at = next(n for n, word in enumerate(said) if said[n : n + 2] == ["--tmpfs", place])
        del said[at - 4 : at + 2]
    return without("--remount-ro", "/")(said)


def unfiltered(prepared: Prepared) -> Prepared:
    """Every system call is allowed."""
    return replace(prepared, filter=ALLOW_ALL)


def inherits(ground: Ground) -> Change:
    """A program that opens a file and a directory of the server's before it becomes bubblewrap."""
    path = f"{ground.base}/careless"

    def apply(prepared: Prepared) -> Prepared:
        real = os.fsdecode(prepared.bwrap)
        with open(path, "w", encoding="ascii") as file:
            file.write(
                f'#!/bin/sh\nexec 8<{ground.host}/secret.txt 9<{ground.host}\nexec {real} "$@"\n'
            )
        os.chmod(path, 0o755)
        return replace(prepared, bwrap=os.fsencode(path))

    return apply


def environment(prepared: Prepared) -> Prepared:
    """The server's own variables."""
    return replace(prepared, env=dict(os.environ))


def rules(extra: list[tuple[bytes, int]]) -> Change:
    """More that Landlock permits."""

    def apply(prepared: Prepared) -> Prepared:
        assert prepared.direct is not None
        made = {name: [*rows, *extra] for name, rows in prepared.direct["rules"].items()}
        return replace(prepared, direct=prepared.direct | {"rules": made})

    return apply


def no_landlock(prepared: Prepared) -> Prepared:
    """The filter alone."""
    assert prepared.direct is not None
    return replace(prepared, direct=prepared.direct | {"landlock": False})


READ_ALL = rules([(b"/", landlock.READ)])
WRITE_ALL = rules([(b"/", landlock.EVERYTHING)])
