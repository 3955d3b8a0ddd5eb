"""Who may import whom, who starts processes, who opens connections."""

from __future__ import annotations

import ast

from tests.quality import tree

MODULES = frozenset({"http.client", "urllib.request", "http.server"})
"""Parts of standard packages that the import contracts cannot tell from their harmless sisters."""
ALLOWED = {
    "runtime/worker/supervisor.py": "asks its own /healthz",
    "runtime/providers/scripted_server.py": "the demo's model server on loopback",
}
STARTERS = ("system", "popen", "fork", "forkpty", "exec", "spawn", "posix_spawn", "startfile")


def test_imports_keep_to_the_contracts() -> None:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    result = tree.tool("-c", command, "--no-logo", "--no-cache")
    assert result.returncode == 0, result.stdout
    assert " 0 broken" in result.stdout


def test_only_the_named_modules_speak_http() -> None:
    found = []
    for path in [*tree.files(".py", under="runtime"), *tree.files(".py", under="m31a_site")]:
        name = path.relative_to(tree.ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = set()
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
            if names & MODULES and name not in ALLOWED and "/notify/" not in name:
                found.append(f"{name}:{node.lineno}")
    assert found == []


def test_only_the_sandbox_calls_what_becomes_another_program() -> None:
    found = []
    for path in [*tree.files(".py", under="runtime"), *tree.files(".py", under="m31a_site")]:
        name = path.relative_to(tree.ROOT).as_posix()
        if name.startswith("runtime/sandbox/"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Attribute):
                continue
            of_os = isinstance(node.value, ast.Name) and node.value.id == "os"
            if (of_os and node.attr.startswith(STARTERS)) or node.attr.startswith(
                "create_subprocess"
            ):
                found.append(f"{name}:{node.lineno} {node.attr}")
    assert found == []
