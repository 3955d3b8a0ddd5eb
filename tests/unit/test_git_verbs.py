"""Which git commands the server does itself, and which it leaves to the cage."""

from __future__ import annotations

import pytest

from runtime.core.actions import GitCommit, GitPush, RunTool
from runtime.core.errors import Refused
from runtime.workspaces import verbs


def tool(*words: str) -> RunTool:
    return RunTool(kind="run_tool", program=words[0], args=list(words[1:]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-m", "a message"), "a message"),
        (("-am", "x"), "x"),
        (("-a", "-q", "--message=x y"), "x y"),
        (("-mx",), "x"),
        (("-m", "title", "-m", "body"), "title\n\nbody"),
    ],
)
def test_a_commit_with_a_message(words: tuple[str, ...], message: str) -> None:
    assert verbs.server_verb(tool("git", "commit", *words)) == GitCommit(
        kind="git_commit", message=message
    )


@pytest.mark.parametrize(
    ("words", "remote", "ref"),
    [
        ((), None, None),
        (("origin",), "origin", None),
        (("origin", "main"), "origin", "main"),
        (("-u", "origin", "HEAD"), "origin", None),
    ],
)
def test_a_push(words: tuple[str, ...], remote: str | None, ref: str | None) -> None:
    assert verbs.server_verb(tool("git", "push", *words)) == GitPush(
        kind="git_push", remote=remote, ref=ref
    )


@pytest.mark.parametrize(
    "words",
    [
        ("commit",),
        ("commit", "-m"),
        ("commit", "-m", " "),
        ("commit", "--amend", "-m", "x"),
        ("commit", "-m", "x", "file.py"),
        ("push", "--force"),
        ("push", "origin", "+main"),
        ("push", "origin", "a:b"),
        ("push", "origin", "a", "b"),
    ],
)
def test_more_than_plain_operands_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(Refused) as caught:
        verbs.server_verb(tool("git", *words))
    assert "Use git_" in caught.value.remedy


def test_staging_and_a_new_branch_have_nothing_to_do() -> None:
    assert verbs.server_verb(tool("git", "add", "-A", "src/a.py")) == verbs.STAGED
    assert verbs.server_verb(tool("git", "switch", "-c", "topic")) == verbs.OWN_BRANCH
    assert verbs.server_verb(tool("git", "checkout", "-b", "topic")) == verbs.OWN_BRANCH


@pytest.mark.parametrize(
    "words",
    [
        ("git",),
        ("git", "status"),
        ("git", "-C", "x", "commit", "-m", "x"),
        ("git", "add", "-p"),
        ("git", "reset", "--hard"),
        ("git", "checkout", "main"),
        ("/usr/bin/git", "commit", "-m", "x"),
        ("hg", "commit", "-m", "x"),
    ],
)
def test_everything_else_runs_in_the_cage(words: tuple[str, ...]) -> None:
    assert verbs.server_verb(tool(*words)) is None


def test_a_write_that_failed_gets_a_hint() -> None:
    said = "fatal: Unable to create '/m31a/git/index.lock': Read-only file system"
    assert "git_commit" in verbs.hint(tool("git", "stash"), said)
    assert verbs.hint(tool("git", "stash"), "fatal: other") == ""
    assert verbs.hint(tool("touch", "x"), said) == ""
