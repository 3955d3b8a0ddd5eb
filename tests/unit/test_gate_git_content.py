"""Git that shows content of files which no word names reads the whole tree, for rules about paths."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.policy import Decision, Rule, RuleLayer, Verdict
from runtime.policy.testing import World, shell, tool

A, Q, E, D = Decision.ALLOW, Decision.ASK, Decision.ESCALATE, Decision.DENY
WORLD = World(
    files={
        "/tree/secret.txt": "s",
        "/tree/src/a.py": "x",
        "/tree/sub/b.py": "x",
        "/tree/conf/key": "x",
    }
)
RULE = Rule("closed", D, path=("/secret.txt", "/conf/key"))


def decided(action: object, *rules: Rule) -> Verdict:
    return WORLD.decide(action, layers=(RuleLayer(1, "system", rules or (RULE,)),))


def git(line: str, **more: Any) -> dict[str, Any]:
    return tool("git", *line.split(), **more)


SHOWS = [
    "log -p", "log -u", "log --patch", "log -Sx", "log -S x --oneline", "log -Gx", "log -L1,2:src/a.py",
    "log --stat -p", "log --follow -p -- src/a.py", "log -U3", "log --word-diff", "log --cc",
    "log -p -- .", "log -p -- :(top)src", "show", "show HEAD", "show HEAD~2",
    "show 0123abcd", "show 0123abcd -- src/a.py", "show -s 0123abcd", "show 0123abcd:key",
    "show HEAD^{tree}", "show :/words", "diff", "diff HEAD", "diff main", "diff .", "diff HEAD -- .",
    "diff -- :!src", "diff --stat -p", "diff main src/a.py", "grep x", "grep -n x", "grep -e x",
    "grep x main", "grep -e x secret.txt", "cat-file -p 0123abcd", "cat-file blob 0123abcd",
    "cat-file --batch", "archive HEAD", "stash show", "stash list -p", "status -v", "format-patch main",
    "fast-export --all", "diff-tree -p HEAD", "whatchanged -p", "range-diff a b c", "frobnicate",
    "-C sub diff", "blame secret.txt", "show HEAD:secret.txt", "show :secret.txt", "show :0:secret.txt",
    "diff HEAD -- secret.txt", "log -p -- s*", "log -p -- conf",
]  # fmt: skip


@pytest.mark.parametrize("line", SHOWS)
def test_what_may_show_a_denied_file_is_denied(line: str) -> None:
    assert decided(git(line)).decision is D
    assert decided(shell(f"git {line} | head")).decision is D


NAMES = [
    "log", "log --oneline -n 3", "log -5 --stat", "log --format=%H -- src", "log -p -- src/a.py",
    "log --name-only main", "show HEAD -- src/a.py", "show HEAD:src/a.py", "show --stat HEAD",
    "show --name-only", "diff --stat", "diff --name-only main", "diff HEAD -- src", "diff src/a.py",
    "diff --cached -- src/a.py", "grep x src", "grep -e x -- src/a.py", "cat-file -t 0123abcd",
    "cat-file -p HEAD:src/a.py", "status", "status -sb", "ls-files", "blame src/a.py", "branch -a",
    "rev-parse HEAD", "show main:src/a.py", "stash list",
]  # fmt: skip


@pytest.mark.parametrize("line", NAMES)
def test_what_names_its_paths_or_shows_no_content_is_not(line: str) -> None:
    assert decided(git(line)).decision is A
    assert decided(shell(f"git {line} | head")).decision is A


def test_a_path_of_a_commit_begins_at_the_root_wherever_the_command_works() -> None:
    assert decided(git("show HEAD:secret.txt", cwd="sub")).decision is D
    assert decided(git("show HEAD:src/a.py", cwd="sub")).decision is A
    assert decided(shell("cd sub && git show HEAD:secret.txt")).decision is D


@pytest.mark.parametrize(
    ("action", "decision"),
    [
        ({"kind": "git_show", "rev": "HEAD"}, D),
        ({"kind": "git_show", "rev": "HEAD:secret.txt"}, D),
        ({"kind": "git_show", "rev": "HEAD^{/a:b}:secret.txt"}, D),
        ({"kind": "git_show", "rev": "HEAD", "path": "secret.txt"}, D),
        ({"kind": "git_show", "rev": "HEAD", "path": "src/a.py"}, A),
        ({"kind": "git_show", "rev": "0123abcd:src/a.py"}, A),
        ({"kind": "git_diff"}, D),
        ({"kind": "git_diff", "path": "."}, D),
        ({"kind": "git_diff", "path": "src"}, A),
        ({"kind": "git_log"}, A),
        ({"kind": "git_status"}, A),
    ],
)
def test_the_actions_of_git(action: dict[str, Any], decision: Decision) -> None:
    assert decided(action).decision is decision


def test_the_verdict_names_the_rule_and_what_to_do() -> None:
    verdict = decided({"kind": "git_diff"})
    assert verdict.rule == "closed" and "name their paths" in verdict.reason
    asked = decided(git("diff"), Rule("keys", Q, reason="Ask first.", path=("*.pem",)))
    assert (asked.decision, asked.rule) == (Q, "keys") and asked.reason.startswith("Ask first.; ")


@pytest.mark.parametrize("line", ["diff", "log -p", "show HEAD", "grep x"])
def test_rules_about_writing_or_about_no_path_say_nothing(line: str) -> None:
    fast = Rule("fast", D, path=("/docs/",), verbs=("writes", "deletes"))  # type: ignore[arg-type]
    assert decided(git(line), fast).decision is A
    without = WORLD.decide(git(line), layers=())
    other = WORLD.decide(git(line), layers=(RuleLayer(1, "x", (Rule("wc", D, program=("wc",)),)),))
    assert (without.decision, without.operands, without.facts) == (A, other.operands, other.facts)
    assert "." not in without.operands
