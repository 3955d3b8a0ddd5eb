"""Git that writes is done by the server, on the run's git directory alone."""

from __future__ import annotations

import shutil

import pytest

from tests.agent.scenes import answer, seen, shell, space, tool
from tests.kit import EDIT, FINISH, VERIFY, git, play, repository, with_remote, workspace


def branch(told):
    return f"m31a/{told.run.pk}"


def said(told, *words):
    """What git says of the run's git directory."""
    return git(space(told).repository.path, *words)


@pytest.mark.parametrize(
    "step",
    [
        {"kind": "git_commit", "message": "Change the notes"},
        tool("git", "commit", "-am", "Change the notes"),
        tool("git", "commit", "-m", "Change the notes"),
    ],
    ids=["git_commit", "commit -am", "commit -m"],
)
def test_a_commit_takes_the_whole_tree_to_the_runs_branch(cast, step):
    workspace(cast.alice)
    told = play(cast.alice, [EDIT, tool("touch", "new.txt"), step, VERIFY, FINISH])
    assert told.state == "succeeded"
    first = told.of("checkpoint.created")[2]["head"]
    assert said(told, "log", "--format=%s", "-n1", first) == "Change the notes"
    files = said(told, "ls-tree", "--name-only", first).split()
    assert files == ["new.txt", "notes.txt"]
    assert said(told, "rev-parse", f"{branch(told)}^") == first


def test_a_commit_with_nothing_to_commit_says_so(cast):
    workspace(cast.alice)
    told = play(cast.alice, [{"kind": "git_commit", "message": "nothing"}, FINISH])
    assert "Nothing to commit" in seen(told)[0]
    assert said(told, "rev-parse", branch(told)) == said(told, "rev-parse", "HEAD")


def test_a_commit_neither_closes_nor_opens_the_debt(cast):
    workspace(cast.alice)
    commit = {"kind": "git_commit", "message": "x"}
    told = play(cast.alice, [EDIT, commit, FINISH, VERIFY, FINISH])
    assert told.types.count("finish.refused") == 1
    assert told.state == "succeeded"
    told = play(cast.alice, [EDIT, VERIFY, commit, FINISH])
    assert told.state == "succeeded" and "finish.refused" not in told.types


def test_what_git_shows_is_the_runs_own_state(cast):
    workspace(cast.alice)
    told = play(
        cast.alice,
        [
            EDIT,
            {"kind": "git_status"},
            {"kind": "git_diff"},
            {"kind": "git_commit", "message": "Mine"},
            {"kind": "git_status"},
            {"kind": "git_log"},
            {"kind": "git_show", "rev": "HEAD"},
            {"kind": "git_show", "rev": "HEAD~1", "path": "notes.txt"},
            VERIFY,
            FINISH,
        ],
    )
    assert told.state == "succeeded"
    texts = seen(told)
    assert "M notes.txt" in texts[1]
    assert "+changed" in texts[2]
    assert "notes.txt" not in texts[4]
    assert "Mine" in texts[5] and "start" in texts[5]
    assert "+changed" in texts[6]
    assert "first line" in texts[7]


@pytest.mark.parametrize(
    "step",
    [
        {"kind": "git_push", "remote": "origin", "ref": "topic"},
        tool("git", "push", "origin", "topic"),
        tool("git", "push", "-u", "origin", "topic"),
    ],
    ids=["git_push", "push", "push -u"],
)
def test_a_push_asks_and_reaches_the_recorded_remote(cast, step):
    root = repository()
    bare = with_remote(root)
    workspace(cast.alice, root)
    told = play(cast.alice, [EDIT, {"kind": "git_commit", "message": "x"}, step, VERIFY, FINISH])
    assert told.state == "waiting"
    assert git(bare, "branch", "--list") == ""
    answer(told, cast.bob)
    told.work()
    assert told.state == "succeeded", told.observations()
    assert git(bare, "log", "--format=%s", "-n1", "topic") == "x"
    assert git(root, "branch", "--list").split() == ["*", "main"], "the checkout has no new branch"


def test_a_push_to_a_remote_that_was_not_recorded_is_refused(cast):
    root = repository()
    workspace(cast.alice, root)
    told = play(cast.alice, [{"kind": "git_push", "remote": "elsewhere"}, FINISH])
    if told.state == "waiting":
        answer(told, cast.bob)
        told.work()
    assert "elsewhere" in seen(told)[0]
    assert told.state == "succeeded"


def test_a_remote_that_does_not_answer_is_an_observation(cast):
    root = repository()
    bare = with_remote(root)
    workspace(cast.alice, root)
    told = play(cast.alice, [{"kind": "git_push", "remote": "origin"}, FINISH])
    shutil.rmtree(bare)
    answer(told, cast.bob)
    told.work()
    assert "does not answer" in seen(told)[0]
    assert told.state == "succeeded"


def test_a_push_over_the_work_of_others_is_refused(cast):
    root = repository()
    bare = with_remote(root)
    workspace(cast.alice, root)
    told = play(cast.alice, [{"kind": "git_push", "remote": "origin", "ref": "main"}, FINISH])
    (root / "other.txt").write_text("theirs\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "theirs")
    git(root, "push", "-q", "origin", "main")
    theirs = git(root, "rev-parse", "HEAD")
    answer(told, cast.bob)
    told.work()
    assert told.state == "succeeded"
    assert not told.of("action.completed")[0]["ok"]
    assert git(bare, "rev-parse", "main") == theirs


def test_staging_and_branching_are_no_operations(cast):
    workspace(cast.alice)
    told = play(
        cast.alice,
        [EDIT, tool("git", "add", "-A"), tool("git", "switch", "-c", "mine"), VERIFY, FINISH],
    )
    assert told.state == "succeeded"
    texts = seen(told)
    assert "staging is implied" in texts[1]
    assert "branch of its own" in texts[2]


def test_other_git_writes_fail_and_say_what_to_use(cast):
    workspace(cast.alice)
    told = play(cast.alice, [shell("git add -A; git commit -m x"), FINISH], mode="autonomous")
    if told.state == "waiting":
        answer(told, cast.bob)
        told.work()
    before = said(told, "rev-parse", branch(told))
    assert before == told.of("run.submitted")[0]["base"]
    assert told.state == "succeeded"


def test_hooks_of_the_repository_do_not_run(cast, tmp_path):
    root = repository()
    marker = tmp_path / "ran"
    for name in ("pre-commit", "post-commit", "post-checkout", "reference-transaction"):
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
        hook.chmod(0o755)
    workspace(cast.alice, root)
    told = play(cast.alice, [EDIT, {"kind": "git_commit", "message": "x"}, VERIFY, FINISH])
    assert told.state == "succeeded"
    assert not marker.exists()


@pytest.mark.thorough
def test_a_difference_beyond_all_bounds_is_an_observation(cast):
    big = "open('big.txt', 'w').write('line of text\\n' * 6_000_000)\n"
    workspace(cast.alice, repository({"make.py": big}))
    told = play(cast.alice, [tool("python3", "make.py"), {"kind": "git_diff"}, FINISH])
    assert "more than" in seen(told)[1]
    assert told.reason == "provider_exhausted", "only the open debt keeps it from its end"


@pytest.mark.parametrize(
    "command", [("reset", "--hard"), ("checkout", "--", "."), ("clean", "-fd")]
)
def test_F56_work_is_kept_before_git_may_discard_it(cast, command):
    root = repository()
    (root / "notes.txt").write_text("mine, not committed\n")
    workspace(cast.alice, root)
    steps = [EDIT, shell("echo more > made.txt"), tool("git", *command), VERIFY, FINISH]
    told = play(cast.alice, steps)
    assert told.state == "waiting", "discarding is never allowed unasked"
    kept = [row.seq for row in told.events if row.type == "checkpoint.created"]
    asked = next(row.seq for row in told.events if row.type == "approval.requested")
    assert len(kept) == 2 and max(kept) < asked
    answer(told, cast.bob)
    told.work()
    assert (root / "notes.txt").read_text() == "mine, not committed\n"
    assert said(told, "show", f"{told.of('checkpoint.created')[1]['commit']}:made.txt").strip() == (
        "more"
    )
