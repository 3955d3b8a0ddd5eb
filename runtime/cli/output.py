"""What a command prints: one JSON document, NDJSON, or lines for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import orjson

from runtime.core import hints


def document(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")
    sys.stdout.flush()


def line(value: Any) -> None:
    """One JSON value on a line of its own, at once."""
    sys.stdout.write(orjson.dumps(value).decode() + "\n")
    sys.stdout.flush()


def text(value: str) -> None:
    """A line for people. Control characters are shown, not obeyed."""
    sys.stdout.write(plain(value) + "\n")
    sys.stdout.flush()


def note(value: str) -> None:
    """A message beside the answer, on stderr, with commands as one types them."""
    sys.stderr.write(plain(hints.typed(value)) + "\n")
    sys.stderr.flush()


def table(rows: Iterable[Iterable[object]]) -> None:
    """Columns for people, as wide as their longest cell."""
    cells = [[plain(str(cell)) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(padded).rstrip() + "\n")
    sys.stdout.flush()


def plain(value: str) -> str:
    """Text that a terminal cannot be steered by; line ends and tabs stay."""
    return "".join(c if c in "\n\t" or c.isprintable() else f"\\u{ord(c):04x}" for c in value)
