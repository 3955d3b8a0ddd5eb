"""The language of rules: TOML text in, layers out. Reference: `docs/policy.md`."""

from __future__ import annotations

from .book import Book
from .documents import MAX_FILE, Document, place_of, read
from .faults import Fault, PolicyFault

__all__ = ["MAX_FILE", "Book", "Document", "Fault", "PolicyFault", "place_of", "read"]
