"""What a backend makes of a spec: the part of the set-up that the broker gets from it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Facts = dict[str, str | int | bool]
Places = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """For the broker, and for whoever must know where things are.

    `sources` (path, name under the stage, writable) are what a broker that was started as root
    makes reachable. `arguments` are bubblewrap's by profile, separated by NUL; `direct` are the
    rules of a backend that mounts nothing; `profiles` are those of one that needs no broker.
    `places` (place in the cage, path that commands find it under) is empty where the two are the
    same. `env` goes over the usual environment.
    """

    sources: tuple[tuple[bytes, bytes, bool], ...]
    facts: Facts
    filter: bytes = b""
    bwrap: bytes = b""
    arguments: Mapping[str, bytes] = field(default_factory=dict)
    direct: dict[str, Any] | None = None
    profiles: Mapping[str, str] = field(default_factory=dict)
    places: Places = ()
    env: Mapping[str, str] = field(default_factory=dict)
    private: str = ""

    def place(self, target: str) -> str:
        """Where commands find what the spec puts at `target`."""
        return placed(self.places, target)


def placed(places: Places, target: str) -> str:
    """Where `target` is found: below the first place that it lies in, else where it says."""
    for place, path in places:
        if target == place or target.startswith(place.rstrip("/") + "/"):
            return posixpath.normpath(posixpath.join(path, posixpath.relpath(target, place)))
    return target
