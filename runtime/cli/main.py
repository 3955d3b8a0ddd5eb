"""Parses a command line and calls the command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

from runtime.core import hints, texts
from runtime.core.errors import NotYet
from runtime.models import User

GROUPS = {
    "running": "demo submit status watch cancel retry diff work",
    "reporting": "report",
    "budgets": "budget",
    "approvals": "approvals grants",
    "deciding": "approve deny edit",
    "journal": "events traces artifacts artifact replay audit",
    "policy": "policy",
    "workspaces": "workspace",
    "persons": "user",
    "sandbox": "sandbox",
    "doctor": "doctor",
}
"""Modules of this room and their commands. Only the one that is called is loaded: a start of
the command line is mostly the loading of what it may need."""
NOT_YET = ("app-server", "acp", "fork", "apply", "checkpoints")


@dataclass
class Call:
    """One command: its options, who acts, and whether JSON is wanted."""

    options: argparse.Namespace
    as_user: str | None
    json: bool

    @cached_property
    def user(self) -> User:
        """The person who acts. Raises `NotFound`."""
        from runtime.people import service as people

        return people.get(self.as_user) if self.as_user else people.default_user()


def load(argv: list[str]) -> list[ModuleType]:
    """The modules that a command line needs."""
    return [import_module(f"runtime.cli.{name}") for name in _groups(argv)]


def run(argv: list[str], as_user: str | None, json: bool) -> int:
    """Run a command and return its exit code. Raises the errors of `runtime.core.errors`."""
    _check(argv, as_user)
    parser = _parser(argv)
    try:
        options = parser.parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    call: Callable[[Any], int] = options.call
    return call(Call(options, as_user, json))


def _check(argv: list[str], as_user: str | None) -> None:
    """Refuse what no table can hold. Behind `--` stand arguments of somebody else's program."""
    end = argv.index("--") if "--" in argv else len(argv)
    for word in [*argv[:end], as_user or ""]:
        texts.check(word, repr(word))


def _parser(argv: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{hints.PROGRAM} m31a",
        description="Runs coding agents the way a careful company wants them run.",
        epilog="--json (machine-readable answer) and --as USER are accepted anywhere.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in ("up", "web", "cluster", "reconcile"):
        # Started by the entry point itself, before Django is loaded; here for the help.
        commands.add_parser(name, help="all that is needed" if name == "up" else "part of up")
    for module in load(argv):
        module.add(commands)
    for name in NOT_YET:
        later = commands.add_parser(name, help="not built yet", prefix_chars="\0")
        later.add_argument("rest", nargs="*")
        later.set_defaults(call=_not_yet(name))
    return parser


def _groups(argv: list[str]) -> list[str]:
    """The module of the command that is called; all of them where it is none, for the help."""
    word = argv[0] if argv else ""
    return [name for name, words in GROUPS.items() if word in words.split()] or list(GROUPS)


def _not_yet(name: str) -> Callable[[Any], int]:
    def call(_: Any) -> int:
        raise NotYet(f"m31a {name} is not built yet.")

    return call
