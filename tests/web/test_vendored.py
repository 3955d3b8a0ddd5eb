"""Files of others are the ones that were taken in, and each has its licence."""

from __future__ import annotations

import tomllib
from pathlib import Path

from runtime.core.digests import sha256

FOLDER = Path(__file__).resolve().parents[2] / "static" / "vendor"


def test_every_vendored_file_is_declared_and_unchanged() -> None:
    declared = tomllib.loads((FOLDER / "VENDOR.toml").read_text(encoding="utf-8"))["file"]
    hashes = {"VENDOR.toml": ""}
    for item in declared:
        assert item["version"] and item["licence"]
        hashes[item["name"]] = item["sha256"]
        hashes[item["licence_file"]] = item["licence_sha256"]
    found = {path.name for path in FOLDER.iterdir()}
    assert found == set(hashes)
    for name, expected in hashes.items():
        if expected:
            assert sha256((FOLDER / name).read_bytes()) == expected, name


def test_nothing_is_loaded_from_elsewhere() -> None:
    root = FOLDER.parents[1]
    kept = (root / "templates").rglob("*.html"), (root / "static" / "runtime").rglob("*.*")
    for path in [*kept[0], *kept[1]]:
        text = path.read_text(encoding="utf-8")
        for mark in ('src="http', 'src="//', "url(http", "@import", 'rel="stylesheet" href="http'):
            assert mark not in text, f"{path.name}: {mark}"
