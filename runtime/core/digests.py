"""Hashes by which the record refers to things. All are lower-case hex SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from . import canonical


def sha256(data: bytes) -> str:
    """Hex SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def first_head(run: str) -> str:
    """The `prev_hash` of a run's first event."""
    return sha256(b"m31a/1/" + run.encode("ascii"))


def link(prev: str, body: bytes) -> str:
    """The hash of an event whose canonical body is `body`."""
    return sha256(prev.encode("ascii") + body)


def action_key(action: Mapping[str, Any], cwd: str, env: Mapping[str, str]) -> str:
    """What stays the same when the same thing is proposed again: for grants and for likeness."""
    return sha256(canonical.encode({"action": dict(action), "cwd": cwd, "env": dict(env)}))


def action_digest(key: str, operands: Mapping[str, str], tree: str, rules: str) -> str:
    """What one approval is bound to: the key, the contents of file operands by path, the
    task's tree, and the hash of the rules that asked."""
    operand_list = [[path, digest] for path, digest in sorted(operands.items())]
    return sha256(
        canonical.encode({"key": key, "operands": operand_list, "rules": rules, "tree": tree})
    )
