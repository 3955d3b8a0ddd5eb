"""Who may say that something is allowed: every place that makes an `Authorised` value."""

from __future__ import annotations

import ast

from tests.quality import tree

MAKERS = {"by_gate", "by_approval", "by_operator", "by_runtime"}
SITES = {
    ("runtime/agent/executing.py", "authorised", "by_approval"),
    ("runtime/agent/executing.py", "authorised", "by_gate"),
    ("runtime/agent/verifying.py", "run_all", "by_operator"),
    ("runtime/cli/sandbox.py", "_answer", "by_operator"),
    ("runtime/cli/sandbox.py", "_run", "by_operator"),
    ("runtime/providers/vendor_cage.py", "run", "by_runtime"),
    ("runtime/sandbox/selftest.py", "_confine", "by_runtime"),
    ("runtime/sandbox/selftest.py", "sessions", "by_runtime"),
    ("runtime/sandbox/toolchains.py", "_ask", "by_runtime"),
    ("runtime/workspaces/caged.py", "script", "by_runtime"),
    ("runtime/workspaces/lookup.py", "_ask_cage", "by_runtime"),
    ("runtime/workspaces/repository.py", "host_git", "by_runtime"),
}


def _calls(path: str, text: str) -> set[tuple[str, str, str]]:
    found = set()
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in MAKERS or name == "Authorised":
                    found.add((path, function.name, name))
    return found


def test_permission_is_made_in_these_places_and_no_other() -> None:
    found = set()
    for folder in ("runtime", "m31a_site"):
        for path in tree.files(".py", under=folder):
            name = path.relative_to(tree.ROOT).as_posix()
            if name != "runtime/policy/authorised.py":
                found |= _calls(name, path.read_text(encoding="utf-8"))
    assert found == SITES
