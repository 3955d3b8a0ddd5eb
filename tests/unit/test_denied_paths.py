"""What rules deny to every command, as it is found in a worktree: hidden, fast, or held in place."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runtime.core.errors import BadInput
from runtime.policy import Decision, Rule, RuleLayer
from runtime.policy.binding import Binding, Bond, bind
from runtime.policy.reading import Verb
from runtime.policy.rules import Circumstances
from runtime.sandbox import denied
from runtime.sandbox.denied import Held, covers, find
from runtime.sandbox.layout import Cover

HIDE, FIX, KEEP = Bond.HIDE, Bond.FIX, Bond.KEEP
WRITES, DELETES, READS = Verb.WRITE, Verb.DELETE, Verb.READ
NOW = datetime(2030, 1, 4, 12, tzinfo=UTC)
AROUND = Circumstances("implementer", "implementation", "assisted", NOW)


def bound(*rules: Rule) -> Binding | None:
    return bind([RuleLayer(2, "organisation", rules)], AROUND, "/repo")


def deny(*path: str, **more: object) -> Rule:
    return Rule("r", Decision.DENY, path=path, **more)  # type: ignore[arg-type]


def held(tmp_path: Path, *rules: Rule, known: bool = True) -> dict[str, Bond | None]:
    for name in ("a.pem", "conf/deep/key", "conf/other", "docs/a.md", "docs/sub/b.md", "src/x.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    binding = bound(*rules)
    assert binding is not None
    found = find(str(tmp_path), os.geteuid(), binding, lambda path: known)
    return {one.path: one.bond for one in found}


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (deny("/a.pem"), {"a.pem": HIDE}),
        (deny("*.PEM"), {"a.pem": HIDE}),
        (deny("//repo/a.pem"), {"a.pem": HIDE}),
        (deny("key"), {"conf": None, "conf/deep": None, "conf/deep/key": HIDE}),
        (deny("/conf/"), {"conf": HIDE}),
        (deny("/conf/**"), {"conf": HIDE}),
        (deny("conf/deep/**"), {"conf": None, "conf/deep": HIDE}),
        (deny("/conf/**", "!/conf/other"), {"conf": None, "conf/deep": HIDE}),
        (deny("/docs/**", verbs=(WRITES,)), {"docs": FIX}),
        (deny("b.md", verbs=(WRITES, DELETES)), {"docs": None, "docs/sub": None, "docs/sub/b.md": FIX}),
        (deny("/src/", verbs=(DELETES,)), {"src": None, "src/x.py": KEEP}),
        (deny("/gone.txt"), {}),
    ],
    ids=lambda value: str(getattr(value, "path", "")),
)  # fmt: skip
def test_each_path_is_held_as_its_rule_says(tmp_path, rule, found):
    assert held(tmp_path, rule) == found


def test_what_is_hidden_below_something_fast_is_hidden(tmp_path):
    rules = (deny("/docs/", verbs=(WRITES,)), deny("b.md"))
    assert held(tmp_path, *rules) == {"docs": FIX, "docs/sub/b.md": HIDE}


def test_what_is_new_is_hidden_but_not_made_fast(tmp_path):
    rules = (deny("/docs/", verbs=(WRITES,)), deny("key"))
    assert held(tmp_path, *rules, known=False) == {
        "conf": None, "conf/deep": None, "conf/deep/key": HIDE,
    }  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    [
        Rule("r", Decision.ASK, path=("/a",)),
        Rule("r", Decision.ALLOW, tool=("run_tool",), path=("/a",)),
        deny("/a", tool=("read_file",)),
        deny("/a", tool=("run_tool",)),
        deny("/a", program=("cat",)),
        deny("/a", program=("*",), argv=("x",)),
        deny("/a", verbs=(Verb.LIST,)),
        deny("/a", role=("reviewer",)),
        deny("/a", mode=("unattended",)),
        deny("/a", time=("sat 09:00-17:00",)),
        deny("/a", expires=datetime(2029, 1, 1, tzinfo=UTC)),
        Rule("r", Decision.DENY, tool=("*",)),
    ],
)
def test_other_rules_bind_no_command_unseen(rule):
    assert bound(rule) is None


@pytest.mark.parametrize("tool", [(), ("*",), ("run_tool", "run_shell"), ("read_file", "*")])
def test_a_rule_that_names_every_way_to_run_a_command_binds_them(tool):
    assert bound(deny("/a", tool=tool)) is not None
    assert bound(deny("/a", tool=tool, program=("*",))) is not None


def test_links_are_not_followed_and_other_names_of_a_file_are_found(tmp_path):
    (tmp_path / "elsewhere").symlink_to("a.pem")
    (tmp_path / "a.pem").write_text("x")
    (tmp_path / "same").hardlink_to(tmp_path / "a.pem")
    (tmp_path / "link.pem").symlink_to("conf")
    assert held(tmp_path, deny("*.pem")) == {"a.pem": HIDE, "same": HIDE}


def test_a_file_that_was_replaced_must_be_covered_anew(tmp_path):
    binding = bound(deny("*.pem"))
    assert binding is not None
    (tmp_path / "a.pem").write_text("x")
    before = find(str(tmp_path), os.geteuid(), binding, bool)
    assert before == find(str(tmp_path), os.geteuid(), binding, bool)
    (tmp_path / "new").write_text("x")
    (tmp_path / "new").rename(tmp_path / "a.pem")
    assert before != find(str(tmp_path), os.geteuid(), binding, bool)


def test_more_than_can_be_covered_is_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(denied, "MOST", 3)
    for number in range(4):
        (tmp_path / f"{number}.pem").touch()
    with pytest.raises(BadInput, match="The rules r deny more than 3 paths") as raised:
        held(tmp_path, deny("*.pem"))
    assert "Deny their folder" in raised.value.remedy


def test_names_that_no_cage_can_be_told_are_refused():
    rows = tuple(Held(f"{number}" * 60, HIDE, False, (0, number)) for number in range(200))
    with pytest.raises(BadInput, match="longer names than a cage can be told"):
        covers("/repo", "/run/tree", rows)


def test_covers_are_laid_from_the_outside_in(tmp_path):
    binding = bound(deny("/conf/deep/", "a.pem"), deny("/docs/", verbs=(WRITES,)))
    held(tmp_path, deny("x"))
    assert binding is not None
    found = find(str(tmp_path), os.geteuid(), binding, bool)
    assert covers("/repo/", "/run/tree", found) == (
        Cover("/repo/a.pem", hide=True),
        Cover("/repo/conf", hide=False, folder=True, writable=True),
        Cover("/repo/conf/deep", hide=True, folder=True),
        Cover("/repo/docs", hide=False, folder=True),
    )
