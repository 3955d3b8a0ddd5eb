"""Files that other programs execute or obey later: every way to change one is asked about.

The table of paths is what matters to a person; each is tried in every way that an action can
change a file, and what the gate asks of one way it asks of all.
"""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from runtime.policy import Decision
from runtime.policy.guarding import guarded
from runtime.policy.language import place_of, read
from runtime.policy.testing import Link, World, decisions, shell, tool
from runtime.policy.verdict import CHANGES_GUARDED, CHANGES_VERIFICATION

GUARDED = (
    # git's own hooks and settings as they can lie in a repository
    ".githooks/pre-commit", ".husky/pre-push", "githooks/post-merge", ".pre-commit-config.yaml",
    "lefthook.yml", ".lintstagedrc.json", ".gitmodules", ".gitconfig", ".lfsconfig",
    # editors
    ".vscode/tasks.json", ".vscode/settings.json", "sub/.vscode/launch.json", ".idea/workspace.xml",
    ".run/app.run.xml", ".zed/tasks.json", ".nvim.lua", ".exrc", ".vimrc", ".dir-locals.el",
    "x.code-workspace", "x.sublime-project", ".devcontainer/devcontainer.json",
    # build servers
    ".github/workflows/ci.yml", ".github/actions/x/action.yml", ".gitlab-ci.yml",
    ".circleci/config.yml", "Jenkinsfile", "azure-pipelines.yml", ".forgejo/workflows/a.yml",
    ".gitea/workflows/a.yml", ".drone.yml", ".travis.yml", "renovate.json",
    # agents
    "AGENTS.md", "CLAUDE.md", "docs/CLAUDE.md", "GEMINI.md", ".cursor/rules/x.mdc", ".cursorrules",
    ".claude/settings.json", ".mcp.json", ".github/copilot-instructions.md",
    ".github/prompts/x.prompt.md", ".windsurfrules", ".codex/config.toml", ".roomodes",
    # shells and what they enter
    ".bashrc", ".zshrc", ".profile", ".zlogin", ".bash_logout", ".kshrc", ".config/fish/config.fish",
    ".envrc", "mise.toml", ".inputrc", ".gdbinit", ".tmux.conf",
    # package managers
    ".npmrc", ".pypirc", ".yarnrc.yml", ".yarn/releases/yarn.cjs", "pip.conf", ".cargo/config.toml",
    ".mvn/extensions.xml", "bunfig.toml", ".bazelrc", "sitecustomize.py", "x.pth",
    # the same by another spelling
    ".VSCODE/tasks.json", ".GitHub/Workflows/ci.yml", "agents.MD",
)  # fmt: skip
ORDINARY = (
    "src/app.py", "Makefile", "README.md", "docs/agents/how.md", "tests/test_hooks.py",
    "src/vscode.py", "package.json", "pyproject.toml", ".gitignore", ".gitattributes",
    ".editorconfig", "github/workflows.py", "src/hooks/use.ts",
)  # fmt: skip


def patch(*lines: str) -> dict[str, Any]:
    return {"kind": "apply_patch", "patch": "".join(f"{line}\n" for line in lines)}


def ways(path: str) -> dict[str, dict[str, Any]]:
    """Everything that changes the file, by name."""
    quoted = shlex.quote(path)
    return {
        "write_file": {"kind": "write_file", "path": path, "content": "x"},
        "replace_text": {
            "kind": "replace_text", "path": path, "expected": "a", "replacement": "b",
        },
        "patch that changes": patch(f"--- a/{path}", f"+++ b/{path}", "@@ -1 +1 @@", "-a", "+b"),
        "patch that creates": patch("--- /dev/null", f"+++ b/{path}", "@@ -0,0 +1 @@", "+b"),
        "patch that deletes": patch(f"--- a/{path}", "+++ /dev/null", "@@ -1 +0,0 @@", "-a"),
        "patch that makes executable": patch(
            f"diff --git a/{path} b/{path}", "old mode 100644", "new mode 100755",
        ),
        "patch that renames to it": patch(
            f"diff --git a/src/app.py b/{path}", "rename from src/app.py", f"rename to {path}",
        ),
        "patch that renames it away": patch(
            f"diff --git a/{path} b/src/new.py", f"rename from {path}", "rename to src/new.py",
        ),
        "patch with an ordinary file before": patch(
            "--- a/src/other.py", "+++ b/src/other.py", "@@ -1 +1 @@", "-a", "+b",
            f"--- a/{path}", f"+++ b/{path}", "@@ -1 +1 @@", "-a", "+b",
        ),
        "redirection": shell(f"echo x > {quoted}"),
        "appended": shell(f"echo x >> {quoted}"),
        "clobbered": shell(f"echo x >| {quoted}"),
        "both streams": shell(f"echo x &> {quoted}"),
        "here-document": shell(f"cat > {quoted} <<'END'\nx\nEND"),
        "tee": shell(f"echo x | tee {quoted}"),
        "copied": tool("cp", "src/app.py", path),
        "moved": tool("mv", "src/app.py", path),
        "linked": tool("ln", "-s", "src/app.py", path),
        "sed": tool("sed", "-i", "s/a/b/", path),
        "touched": tool("touch", path),
        "dd": tool("dd", "if=src/app.py", f"of={path}"),
        "a job": {"kind": "start_job", "program": "cp", "args": ["src/app.py", path]},
    }  # fmt: skip


WORLD = World(files={"/tree/src/app.py": "a\n"}, folders={"/tree/docs", "/tree/sub"})


@pytest.mark.parametrize("path", GUARDED)
def test_a_guarded_file_is_asked_about_in_every_way_to_change_it(path: str) -> None:
    allowed = [way for way, action in ways(path).items()
               if WORLD.decide(action).decision is Decision.ALLOW]  # fmt: skip
    assert allowed == []


@pytest.mark.parametrize("path", ORDINARY)
def test_an_ordinary_file_is_changed_without_a_question(path: str) -> None:
    free = {"write_file", "replace_text", "patch that changes", "patch that creates", "redirection",
            "patch with an ordinary file before", "tee", "copied", "patch that deletes"}  # fmt: skip
    asked = {way: decisions(WORLD.decide(action)) for way, action in ways(path).items()
             if way in free and WORLD.decide(action).decision is not Decision.ALLOW}  # fmt: skip
    assert asked == {}


GIT = (".git/hooks/pre-commit", ".git/config", "sub/.git/config", ".GIT/hooks/x", ".m31a/policy")


@pytest.mark.parametrize("path", GIT)
def test_the_repositorys_own_files_are_changed_by_no_action(path: str) -> None:
    soft = {way: WORLD.decide(action).decision for way, action in ways(path).items()
            if WORLD.decide(action).decision is not Decision.DENY}  # fmt: skip
    assert soft == {}


def test_a_guarded_file_behind_a_link_is_guarded() -> None:
    world = World(files={"/tree/src/app.py": "a\n", "/tree/plain": Link(".vscode")})
    actions = ways("plain/tasks.json")
    allowed = [way for way in actions if world.decide(actions[way]).decision is Decision.ALLOW]
    assert allowed == []


OUTSIDE = ("/etc/passwd", "../x", "a/../../x", "~/.bashrc", "/tree/../x")


@pytest.mark.parametrize("path", OUTSIDE)
def test_W2_a_patch_of_a_path_outside_is_denied(path: str) -> None:
    for way, action in ways(path).items():
        if way.startswith("patch"):
            verdict = WORLD.decide(action)
            assert verdict.decision is Decision.DENY, way


def test_a_patch_is_judged_by_its_worst_file_and_its_effects_name_all() -> None:
    verdict = WORLD.decide(
        patch(
            "diff --git a/src/app.py b/src/moved.py", "rename from src/app.py",
            "rename to src/moved.py",
            "diff --git a/.env b/.env",
            "--- a/.env", "+++ b/.env", "@@ -1 +1 @@", "-a", "+b",
        )
    )  # fmt: skip
    assert verdict.decision is Decision.ASK and verdict.mutation
    assert {"deletes src/app.py", "writes src/moved.py", "writes .env"} <= set(verdict.effects)
    assert set(verdict.operands) == {"src/app.py", "src/moved.py", ".env"}


def test_F28_a_patch_that_renames_a_secret_away_is_no_way_to_read_it() -> None:
    verdict = WORLD.decide(
        patch("diff --git a/.env b/notes", "rename from .env", "rename to notes")
    )
    assert verdict.decision is Decision.ESCALATE


@pytest.mark.parametrize("text", ["", "hello", "--- a/x\n+++ b/x\n", "diff --git a/x b/x\n"])
def test_text_that_is_no_patch_is_denied_with_the_reason(text: str) -> None:
    verdict = WORLD.decide({"kind": "apply_patch", "patch": text})
    assert (verdict.decision, verdict.rule) == (Decision.DENY, "patch")
    assert "patch" in verdict.reason


def test_a_job_is_judged_as_the_same_program_run_in_front() -> None:
    for words in (["python3", "x.py"], ["rm", "-rf", "/"], ["git", "push"], ["curl", "http://a.b"],
                  ["./x"], ["nonesuch"], ["sudo", "ls"], ["cat", ".env"]):  # fmt: skip
        job = {"kind": "start_job", "program": words[0], "args": words[1:]}
        assert WORLD.decide(job).decision is WORLD.decide(tool(*words)).decision, words


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("job_output", "ALLOW ALLOW ALLOW"), ("stop_job", "DENY ASK ALLOW")],
)
def test_reading_a_job_changes_nothing_and_stopping_one_does(kind: str, expected: str) -> None:
    found = [
        WORLD.decide({"kind": kind, "job": "j1"}, mode).decision
        for mode in ("plan", "safe", "assisted")
    ]
    assert " ".join(map(str, found)) == expected


HANDED_OVER = {
    "finish": {"kind": "finish", "summary": "done"},
    "push": {"kind": "git_push"},
    "git push": tool("git", "push", "origin", "HEAD"),
}


@pytest.mark.parametrize("path", [*GUARDED, ".env", "keys/server.pem", ".m31a/policy.toml"])
def test_what_is_asked_about_in_an_edit_is_looked_for_in_what_a_command_has_left(path: str) -> None:
    assert guarded(path)


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_files_are_not_looked_for(path: str) -> None:
    assert guarded(path) == ""


@pytest.mark.parametrize(
    ("mode", "decision"),
    [("safe", "ASK"), ("assisted", "ASK"), ("autonomous", "ASK"), ("unattended", "DENY")],
)
@pytest.mark.parametrize("way", HANDED_OVER)
def test_what_a_command_has_left_is_handed_over_unasked_in_no_mode(
    way: str, mode: str, decision: str
) -> None:
    paths = tuple(f"{name}/.vscode/tasks.json" for name in "abcdefg")
    verdict = WORLD.decide(HANDED_OVER[way], mode=mode, changed_guarded=paths)
    assert verdict.decision == decision
    assert f"a command has changed {paths[0]} (an editor obeys it)" in verdict.reason
    assert "and more" in verdict.reason
    assert f"hands over a guarded file: {paths[-1]}" in verdict.effects


def test_what_hands_nothing_over_is_not_asked_about_it() -> None:
    for action in (tool("cp", "src/app.py", "src/b.py"), {"kind": "verify"}):
        verdict = WORLD.decide(action, changed_guarded=(".envrc",))
        assert verdict.decision is Decision.ALLOW
        assert not any("guarded" in effect for effect in verdict.effects)


def test_a_rule_may_decide_otherwise_about_what_a_command_has_left() -> None:
    text = '[[rule]]\nid = "deliver"\ndecision = "ALLOW"\ntool = "finish"\n'
    layer = read("organisation.toml", text, *place_of("organisation.toml")).layer
    verdict = WORLD.decide(HANDED_OVER["finish"], layers=(layer,), changed_guarded=(".envrc",))
    assert (verdict.decision, verdict.rule) == ("ALLOW", "deliver")


def test_the_record_of_a_verdict_names_some_of_each_sort_however_many_there_are() -> None:
    many = tuple(f"tests/test_{number}.py" for number in range(100))
    finish = HANDED_OVER["finish"]
    told = WORLD.decide(finish, changed_inputs=many, changed_guarded=many).as_payload()["effects"]
    assert any(one.startswith(CHANGES_VERIFICATION) for one in told)
    assert any(one.startswith(CHANGES_GUARDED) for one in told)
