"""Workers die at every place: nothing with effects is done twice without somebody being told."""

from __future__ import annotations

import os
import signal
from datetime import timedelta

import psutil
import pytest

from runtime import blobs, runs
from runtime.agent import delivering, driver, proposing, publishing
from runtime.agent.session import Session
from runtime.journal import verify
from runtime.journal.append import now
from runtime.models import Delta, SealedBytes, Task
from runtime.providers.scripted import ScriptedProvider
from runtime.runs import replay
from runtime.workspaces.editor import Editor
from runtime.workspaces.space import RunSpace
from tests.agent.dying import die, die_after, kill_when, start, work_and_die
from tests.agent.scenes import (
    answer,
    happened,
    holds,
    seen,
    shell,
    space,
    task,
    tool,
    tree,
    wait_for,
    write,
)
from tests.kit import EDIT, FINISH, VERIFY, Told, git, repository, submit, workspace

SLOW = """import time
open('out.log', 'a').write('once\\n')
open('t.txt', 'a').write('x\\n')
time.sleep(987)
"""
SLOWLY = f"slow-{os.getpid()}.py"
"""Nobody else's: other tests run at the same time on this machine."""


def check(told: Told) -> None:
    """The record and the tables agree."""
    assert replay.check(told.run.pk) == ""
    assert verify.verify(told.run.pk)["ok"]
    assert not Delta.objects.filter(run=told.run.pk).exists()
    assert not SealedBytes.objects.filter(run=told.run.pk).exists()


def sleepers() -> list[int]:
    """Processes of the slow script that still live."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if SLOWLY in words:
            found.append(process.pid)
    return found


def test_R2_F42_a_killed_command_is_not_repeated_and_its_outcome_is_unknown(cast):
    files = {SLOWLY: SLOW, ".gitignore": "*.log\n", "notes.txt": "x\n"}
    workspace(cast.alice, repository(files))
    told = submit(cast.alice, [EDIT, tool("python3", SLOWLY), FINISH, VERIFY, FINISH])
    kill_when(lambda: holds(tree(told) / "t.txt", "x\n") and happened(told, "action.started"))
    assert told.state == "running"
    told.work()
    wait_for(lambda: sleepers() == [])  # the command of the dead worker is ended
    unknown = told.last("action.outcome_unknown")
    assert unknown["kind"] == "run_tool" and "unknown" in unknown["reason"]
    assert (tree(told) / "out.log").read_text() == "once\n", "it was not run again"
    assert not (tree(told) / "t.txt").exists(), "the worktree is that of the last checkpoint"
    left = told.last("worktree.restored")["left"]
    assert "+++ b/t.txt" in blobs.get(left["sha256"]).decode()
    assert (tree(told) / "notes.txt").read_text() == "changed\n", "the edit before is kept"
    assert told.types.count("finish.refused") == 1, "the debt stays"
    assert told.state == "succeeded"
    assert (task(told).attempt, task(told).crashes) == (2, 1)
    check(told)


def test_an_action_whose_secret_form_is_gone_is_not_done_again_and_the_run_goes_on(cast):
    workspace(cast.alice, repository({"notes.txt": "x\n"}))
    commit = {"kind": "git_commit", "message": "Use ghp_" + "b1" * 18}
    told = submit(cast.alice, [EDIT, VERIFY, commit, FINISH])
    work_and_die(lambda: setattr(publishing, "commit_tree", die))
    assert told.last("action.started")["kind"] == "git_commit"
    assert SealedBytes.objects.filter(run=told.run.pk).delete()[0] == 1
    told.work()
    unknown = told.last("action.outcome_unknown")
    assert unknown["kind"] == "git_commit" and "secret form" in unknown["reason"]
    assert told.state == "succeeded", told.last("task.failed")
    check(told)


def test_F44_a_worker_that_was_frozen_is_fenced_off(cast):
    workspace(cast.alice, repository({SLOWLY: SLOW, ".gitignore": "*.log\n"}))
    told = submit(cast.alice, [tool("python3", SLOWLY), FINISH])
    frozen = start()
    try:
        wait_for(lambda: holds(tree(told) / "t.txt", "x\n"))
        os.kill(frozen, signal.SIGSTOP)
        long_ago = now() - timedelta(seconds=1000)
        assert Task.objects.filter(state="running").update(lease_expires_at=long_ago) == 1
        told.work()
        assert told.state == "succeeded"
        wait_for(lambda: sleepers() == [])  # the command of the frozen worker is ended
        before = len(told.events)
    finally:
        os.kill(frozen, signal.SIGCONT)
        os.waitpid(frozen, 0)
    assert len(told.events) == before, "it wrote nothing more"
    assert (tree(told) / "out.log").read_text() == "once\n"
    check(told)


def test_a_killed_verification_leaves_the_debt(cast):
    workspace(cast.alice, verify=(f"python3 {SLOWLY}",), root=repository({SLOWLY: SLOW}))
    told = submit(cast.alice, [write("a.txt", "a"), VERIFY, FINISH])
    kill_when(lambda: holds(tree(told) / "t.txt", "x\n"))
    told.work()
    assert told.last("action.outcome_unknown")["kind"] == "verify"
    assert told.last("finish.refused")["debt"] is True
    wait_for(lambda: sleepers() == [])
    check(told)


def test_R11_a_crash_after_the_trace_does_not_run_the_command_again(cast):
    workspace(cast.alice, repository({".gitignore": "*.log\n"}))
    told = submit(cast.alice, [shell("echo once >> out.log"), FINISH])
    decide = ScriptedProvider.decide

    def die_at_the_second(self, prompt, **more):
        return decide(self, prompt, **more) if more["ordinal"] == 0 else die()

    work_and_die(lambda: setattr(ScriptedProvider, "decide", die_at_the_second))
    assert told.types[-1] == "action.completed"
    told.work()
    assert (tree(told) / "out.log").read_text() == "once\n"
    assert "action.outcome_unknown" not in told.types
    assert told.state == "succeeded"
    check(told)


def test_an_edit_that_was_not_done_is_done_after_the_crash(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [EDIT, VERIFY, FINISH])
    work_and_die(lambda: setattr(Editor, "write", die))
    assert told.types[-1] == "action.started"
    told.work()
    assert (tree(told) / "notes.txt").read_text() == "changed\n"
    assert "action.outcome_unknown" not in told.types
    assert told.state == "succeeded"
    check(told)


def test_an_edit_that_was_done_is_checkpointed_after_the_crash(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [EDIT, VERIFY, FINISH])
    work_and_die(lambda: setattr(Editor, "write", die_after(Editor.write)))
    assert told.types[-1] == "action.started"
    told.work()
    assert "before an interruption" in seen(told)[0]
    assert told.types.count("checkpoint.created") == 1
    assert (tree(told) / "notes.txt").read_text() == "changed\n"
    assert told.state == "succeeded"
    assert told.last("delivery.completed")["files"] == 1
    check(told)


def test_an_edit_that_is_neither_is_unknown_and_leaves_a_debt(cast):
    workspace(cast.alice, repository({"notes.txt": "x\n", ".gitignore": "*.log\n"}))
    told = submit(cast.alice, [write("out.log", "new\n"), FINISH, VERIFY, FINISH])

    def scribble(self, *_):
        (self._root / "out.log").write_text("half")
        die()

    work_and_die(lambda: setattr(Editor, "write", scribble))
    told.work()
    assert told.last("action.outcome_unknown")["kind"] == "write_file"
    assert told.types.count("finish.refused") == 1
    assert told.state == "succeeded"
    check(told)


def test_a_read_is_done_again(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [{"kind": "read_file", "path": "notes.txt"}, FINISH])
    work_and_die(lambda: setattr(Editor, "read_lines", die))
    told.work()
    assert "first line" in seen(told)[0]
    assert told.state == "succeeded"
    check(told)


def test_a_commit_that_was_made_is_not_made_again(cast):
    workspace(cast.alice)
    commit = {"kind": "git_commit", "message": "Mine"}
    told = submit(cast.alice, [EDIT, commit, VERIFY, FINISH])
    work_and_die(lambda: setattr(publishing, "CheckpointCreated", die))
    told.work()
    assert told.state == "succeeded", told.reason
    repo = space(told).repository.path
    subjects = git(repo, "log", "--format=%s", f"m31a/{told.run.pk}").splitlines()
    assert subjects == ["Do what the script says.", "Mine", "start"]
    check(told)


def test_a_delivery_that_was_interrupted_is_made_whole(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [EDIT, VERIFY, FINISH])
    work_and_die(lambda: setattr(delivering, "_report", die))
    told.work()
    assert told.state == "succeeded", told.reason
    repo = space(told).repository.path
    subjects = git(repo, "log", "--format=%s", f"m31a/{told.run.pk}").splitlines()
    assert subjects == ["Do what the script says.", "start"]
    assert told.types.count("delivery.completed") == 1
    check(told)


def test_a_push_that_was_interrupted_is_unknown(cast):
    root = repository()
    bare = root.parent / "origin.git"
    git(root, "init", "-q", "--bare", str(bare))
    git(root, "remote", "add", "origin", str(bare))
    workspace(cast.alice, root)
    told = submit(cast.alice, [{"kind": "git_push", "ref": "topic"}, FINISH]).work()
    answer(told, cast.bob)
    work_and_die(lambda: setattr(RunSpace, "push", die))
    told.work()
    assert told.last("action.outcome_unknown")["kind"] == "git_push"
    assert told.types.count("approval.requested") == 1
    assert told.state == "succeeded"
    check(told)


def test_a_question_that_was_not_asked_is_asked_after_the_crash(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [{"kind": "ask_human", "question": "Which?"}, FINISH])
    work_and_die(lambda: setattr(driver, "_ask", die))
    told.work()
    assert told.state == "waiting"
    answer(told, cast.alice, comment="This.")
    told.work()
    assert told.state == "succeeded"
    check(told)


def test_a_crash_before_the_answer_is_journaled_asks_the_model_again(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [{**tool("true"), "say": "Let me see. "}, FINISH])
    work_and_die(lambda: setattr(proposing, "_journal", die))
    assert Delta.objects.filter(run=told.run.pk).exists()
    told.work()
    assert told.last("message.cut")["text"].strip() == "Let me see."
    assert told.types.count("message.completed") == 2
    assert told.state == "succeeded"
    check(told)


def test_a_preview_that_was_not_removed_any_more_is_no_cut_message(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [{**tool("true"), "say": "Let me see."}, FINISH])
    work_and_die(lambda: setattr(proposing, "remove", die))
    told.work()
    assert "message.cut" not in told.types
    check(told)


def test_a_cancelled_task_whose_worker_dies_is_cancelled(cast):
    workspace(cast.alice, repository({SLOWLY: SLOW}))
    told = submit(cast.alice, [tool("python3", SLOWLY, "--token", "hunter2hunter2"), FINISH])

    def cancelled() -> bool:
        if not holds(tree(told) / "t.txt", "x\n"):
            return False
        runs.cancel(told.run.pk, cast.alice)
        return True

    kill_when(cancelled)
    told.work()
    assert told.state == "cancelled"
    assert told.types[-1] == "run.cancelled"
    check(told)


@pytest.mark.thorough
@pytest.mark.parametrize("bound", [1, 2])
def test_X15_a_task_that_kills_its_worker_each_time_ends_at_the_bound(cast, bound):
    workspace(cast.alice)
    secret = tool("true", "--token", "hunter2hunter2")
    told = submit(cast.alice, [secret, FINISH], max_attempts=bound)
    for _ in range(bound):
        work_and_die(lambda: setattr(ScriptedProvider, "decide", die))
    told.work()
    assert (told.state, told.reason) == ("failed", "attempts_exhausted")
    assert task(told).attempt == bound
    check(told)
    runs.retry(told.run.pk, cast.alice, bound + 1)
    told.work()
    assert told.state == "succeeded"
    check(told)


def test_a_command_interrupted_at_the_last_attempt_is_told_after_a_retry(cast):
    workspace(cast.alice, repository({SLOWLY: SLOW, ".gitignore": "*.log\n"}))
    told = submit(cast.alice, [tool("python3", SLOWLY), FINISH], max_attempts=1)
    kill_when(lambda: holds(tree(told) / "t.txt", "x\n"))
    told.work()
    assert told.reason == "attempts_exhausted"
    runs.retry(told.run.pk, cast.alice, 2)
    told.work()
    assert told.last("action.outcome_unknown")["kind"] == "run_tool"
    assert (tree(told) / "out.log").read_text() == "once\n"
    assert told.state == "succeeded"
    check(told)


def test_a_worktree_that_was_being_filled_is_filled_after_the_crash(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [EDIT, VERIFY, FINISH])
    work_and_die(lambda: setattr(Session, "settle", die))
    told.work()
    assert told.state == "succeeded"
    assert told.last("delivery.completed")["files"] == 1
    check(told)
