"""The built-in rules about commands: the tables of programs as rules, and examples of what their
readers say beyond the tables."""

from __future__ import annotations

from collections.abc import Iterator

from .builtin_examples import Asked
from .decision import Decision
from .programs import PROGRAMS, Program
from .programs.build import RISKY
from .programs.interpreters import KNOWN_SCRIPTS, RISKY_MODULES
from .programs.model import Option, Value
from .programs.network import DOCKER_REMOTE, cloud
from .shell_builtins import SPECIAL
from .testing import shell, tool

COMMANDS = (
    Asked("chmod -R", tool("chmod", "-R", "u+x", "src")),
    Asked("cmake --install", tool("cmake", "--install", "build")),
    Asked("cmake entry", tool("cmake", "-DCMAKE_C_COMPILER=tool", ".")),
    Asked("env", tool("env")),
    Asked("env -C", tool("env", "-C", "/tree/src", "ls"), "the worktree is `/tree`"),
    Asked("find -delete", tool("find", ".", "-delete")),
    Asked("find -exec", tool("find", ".", "-exec", "ls", "{}", ";")),
    Asked("gcc @", tool("gcc", "@words")),
    Asked("gcc plug-in", tool("gcc", "-plugin", "x.so")),
    Asked("git", tool("git")),
    Asked("git -C", tool("git", "-C", "/tree/src", "status"), "the worktree is `/tree`"),
    Asked("git -c", tool("git", "-c", "core.pager=tool", "log")),
    Asked("git branch write", tool("git", "branch", "topic")),
    Asked("git checkout", tool("git", "checkout", "topic")),
    Asked("git commit paths", tool("git", "commit", "-m", "Mend", "a.txt")),
    Asked("git config", tool("git", "config", "user.name", "x")),
    Asked("git config credential", tool("git", "config", "--get", "credential.helper")),
    Asked("git config file", tool("git", "config", "--get", "-f", "other", "a.b")),
    Asked("git config global", tool("git", "config", "--global", "user.name", "x")),
    Asked("git frobnicate", tool("git", "frobnicate")),
    Asked("git push", {"kind": "git_push"}),
    Asked("git push rewrite", tool("git", "push", "origin", "+main")),
    Asked("git remote add", tool("git", "remote", "add", "x", "y")),
    Asked("git stash drop", tool("git", "stash", "drop")),
    Asked("git switch", tool("git", "switch", "topic")),
    Asked("go env -w", tool("go", "env", "-w", "GOFLAGS=-mod=mod")),
    Asked("go mod download", tool("go", "mod", "download")),
    Asked("go run download", tool("go", "run", "example.org/x@latest")),
    Asked("gpg secret", tool("gpg", "--export-secret-keys")),
    Asked("java agent", tool("java", "-javaagent:x.jar", "Main")),
    Asked("jq environment", tool("jq", "env", "a.json")),
    Asked("kubectl change", tool("kubectl", "delete", "pod", "x")),
    Asked("kubectl credential", tool("kubectl", "get", "secret")),
    Asked("ln", tool("ln", "-s", "a", "b")),
    Asked("make deploy", tool("make", "deploy")),
    Asked("make variable", tool("make", "CC=tool")),
    Asked("mvn plug-in", tool("mvn", "exec:java")),
    Asked("nice", tool("nice")),
    Asked("node -e", tool("node", "-e", "require('child_process')")),
    Asked("npm run env", tool("npm", "run", "env")),
    Asked("npm run publish", tool("npm", "run", "publish")),
    Asked("openssl s_client", tool("openssl", "s_client", "x")),
    Asked("printf -v", shell("printf -v name text")),
    Asked("ps environment", tool("ps", "eww")),
    Asked("python option", tool("python3", "--frobnicate", "a.py")),
    Asked("sed unknown option", tool("sed", "--frobnicate", "a.txt")),
    Asked("sqlite3", tool("sqlite3", "a.db", "drop table x")),
    Asked("unknown program", tool("frobnicate"), context={"allowed": frozenset({"frobnicate"})}),
    Asked("yarn", tool("yarn")),
    Asked("yq expression", tool("yq", 'load("other")', "a.yml")),
)
"""Where the name of a program, a target or a subcommand stands in a rule's name, others can."""
LISTED: tuple[tuple[Asked, ...], ...] = (
    tuple(
        Asked(f"python -m {name}", tool("python3", "-m", name)) for name in sorted(RISKY_MODULES)
    ),
    tuple(
        Asked(f"{script} {name}", tool("python3", script, name))
        for script, names in KNOWN_SCRIPTS.items()
        for name in sorted(names)
    ),
    tuple(
        Asked(f"{program} {name}", tool(program, name))
        for program, names in RISKY.items()
        for name in sorted(names)
    ),
    tuple(Asked(f"docker {name}", tool("docker", name)) for name in sorted(DOCKER_REMOTE)),
)
"""Rules whose names are made from a list, for each list one for every name in it."""
RESERVED = frozenset({"function"})
"""Words of the shell's grammar: a definition, which is noticed as such, not a command."""
_STRANGE = "--frobnicate"


def of_the_shell() -> Iterator[tuple[str, Decision, str, Asked]]:
    """What the table of the shell's own commands says, in the same form."""
    for name, why in SPECIAL.items():
        if name not in RESERVED:
            yield "canonicalise", Decision.ASK, why, Asked(name, shell(f"{name} ls"))


def of_programs() -> Iterator[tuple[str, Decision, str, Asked]]:
    """What the tables say, as stage, decision, reason and the rule with an example: of programs and
    subcommands, of options at which somebody looks, and of options that are not known."""
    for top in PROGRAMS.values():
        for program in _below(top):
            words = program.name.split()
            more = ["get"] if program.reader is cloud else []
            if program.veto:
                yield "veto", Decision.DENY, program.why, Asked(program.name, tool(*words))
            elif program.base is not Decision.ALLOW:
                asked = Asked(program.name, tool(*words, *more))
                yield "defaults", program.base, program.why, asked
            for name, option, decision in _remarkable(program):
                action = tool(*words, name, *_after(program, option))
                asked = Asked(f"{program.name} {name}", action)
                yield "defaults", decision, f"{_OPTION} {option.why}", asked
            if program.strict and program.base is Decision.ALLOW:
                asked = Asked(f"{program.name} unknown option", tool(*words, _STRANGE))
                yield "defaults", Decision.ASK, "an option that its table does not know", asked


_OPTION = "an option that"


def _below(program: Program) -> Iterator[Program]:
    yield program
    for one in program.subcommands.values():
        yield from _below(one)
    if program.other is not None:
        yield from _below(program.other)


def _remarkable(program: Program) -> Iterator[tuple[str, Option, Decision]]:
    """The options that can decide: those that are worse than their program. Of two entries for a
    name the last one counts, as where options are read."""
    named = {name: option for option in program.options for name in option.names}
    for name, option in named.items():
        if option.decision is not None and option.decision > program.base:
            yield name, option, option.decision


def _after(program: Program, option: Option) -> list[str]:
    """What an option needs behind it; a reader may do without its table where only one word is."""
    value = ["a"] if option.value is Value.NEEDED else []
    return [*value, "b"] if program.raw else value
