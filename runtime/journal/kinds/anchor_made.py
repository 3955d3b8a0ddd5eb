"""`anchor.made`: where chains stood at a moment, signed by a key outside the database."""

from __future__ import annotations

from typing import Any

from runtime.journal.kind import Payload


class AnchorMade(Payload):
    """Where chains stood at a moment, signed by a key outside the database.

    `heads` lists run, number and hash; `signature` is the HMAC-SHA256 of its canonical JSON.
    """

    type = "anchor.made"
    bulky = ("heads",)

    heads: list[list[Any]]
    signature: str
