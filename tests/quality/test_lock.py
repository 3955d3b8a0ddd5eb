"""The lock files agree with what the project asks for, and with each other."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.quality import tree

PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
PROJECT = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(name: str) -> dict[str, str]:
    text = (tree.ROOT / name).read_text(encoding="utf-8")
    return {canonicalize_name(package): version for package, version in PIN.findall(text)}


def lacking(wanted: list[str], name: str) -> list[str]:
    """Requirements that the lock does not satisfy."""
    locked = pins(name)
    found = []
    for text in wanted:
        requirement = Requirement(text)
        version = locked.get(canonicalize_name(requirement.name))
        if version is None or Version(version) not in requirement.specifier:
            found.append(f"{text}: locked {version}")
    return found


def test_every_dependency_is_pinned() -> None:
    assert lacking(PROJECT["project"]["dependencies"], "requirements.lock") == []


def test_every_test_tool_is_pinned() -> None:
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["test"]]
    assert lacking(wanted, "requirements-test.lock") == []


def test_the_tests_run_with_the_versions_that_are_shipped() -> None:
    shipped, tested = pins("requirements.lock"), pins("requirements-test.lock")
    assert {name: tested.get(name) for name in shipped} == shipped


def test_every_pin_has_hashes_and_no_place() -> None:
    for name in ("requirements.lock", "requirements-test.lock"):
        text = (tree.ROOT / name).read_text(encoding="utf-8")
        blocks = re.split(r"\n(?=[A-Za-z0-9])", text.strip())
        assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
        assert "://" not in text and "--index" not in text and "--find-links" not in text
