"""The language's reference and the file to begin with say what is so."""

from __future__ import annotations

import re
from pathlib import Path

from runtime.policy.language import read
from runtime.policy.language.documents import FOLDERS, SINGLE
from runtime.policy.language.fields import FIELDS
from runtime.policy.verdict import Source

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_file_to_begin_with_is_without_fault() -> None:
    text = (DOCS / "examples" / "organisation.toml").read_text()
    found = read("organisation.toml", text, 2)
    assert [str(fault) for fault in found.faults] == []
    assert len(found.layer.rules) == text.count("[[rule]]") and found.examples > 15
    assert all(one.match and one.no_match and one.reason for one in found.layer.rules)


def test_every_field_and_every_file_is_documented() -> None:
    text = (DOCS / "policy.md").read_text()
    named = set(re.findall(r"`([^`]+)`", text))
    assert named >= FIELDS.keys() | {"match", "no_match"}
    assert named >= {f"{name}.toml" for name in SINGLE}
    assert all(f"`{folder}/" in text for folder in FOLDERS)
    assert all(f"`{source}`" in text for source in Source.__args__)  # type: ignore[attr-defined]
