"""Package managers: what stays in the project is ordinary, what downloads is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ..decision import Decision
from .model import (
    Found,
    Operands,
    Option,
    Program,
    Reader,
    Value,
    asking,
    asks,
    flags,
    moves_to,
    runs,
    table,
    takes,
)
from .wrappers import PROJECT_RUN

_DOWNLOADS = "downloads, installs or publishes code"
_SENDING = re.compile(r"(?i)(deploy|publish|release|upload|install|uninstall|push)([:_-].*)?")
"""Names of targets and scripts that send what was built to others, or put it into the system."""
_SCRIPTED = frozenset({"npm", "yarn", "pnpm", "composer"})
"""Managers whose `run` is followed by the name of a script of the project."""


def sends_or_installs(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Targets whose name says that their effects do not stay in the worktree."""
    for word in found.operands:
        if _SENDING.fullmatch(word):
            reason = "by its name sends or installs what was built"
            found.remark(Decision.ASK, f"{program.name} {word}", reason)
            found.network = True


def _script(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`npm run NAME`: the project's own script, or the listing of the environment."""
    if found.operands[:1] == ["env"]:
        reason = "prints the environment into the record"
        found.remark(Decision.ASK, f"{program.name} env", reason)
    elif found.operands:
        found.operands = found.operands[:1]
        sends_or_installs(program, args, found)


def _unless(asking_words: str) -> Reader:
    """Scripts of the project by their bare name, unless some word is one that installs."""
    names = frozenset(asking_words.split())

    def reader(program: Program, args: tuple[str, ...], found: Found) -> None:
        for word in args:
            if word in names:
                found.remark(Decision.ASK, f"{program.name} {word}", f"{word} {_DOWNLOADS}")
                found.network = True
        sends_or_installs(program, args, found)

    return reader


def _bare(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Alone, `yarn` installs."""
    if not found.operands and not {"-v", "--version", "-h", "--help"}.intersection(args):
        found.remark(Decision.ASK, program.name, f"{program.name} {_DOWNLOADS}")
        found.network = True


def manager(
    name: str,
    quiet: str,
    asking_words: str,
    *options: Option,
    other: Decision = Decision.ASK,
    runner: str = "",
    within: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> Program:
    """A program with subcommands: `quiet` ones stay in the project, the others are asked for.
    `runner`: the one that is followed by a command line of the project. `within`: subcommands
    with subcommands of their own, quiet and other ones."""
    subcommands = table(
        *(
            Program(
                f"{name} {word}",
                operands=Operands.FREE,
                options=options,
                reader=_script if word in ("run", "run-script") and name in _SCRIPTED else None,
            )
            for word in quiet.split()
        ),
        *(
            Program(
                f"{name} {word}",
                Decision.ASK,
                _DOWNLOADS,
                network=True,
                operands=Operands.FREE,
                options=options,
            )
            for word in asking_words.split()
        ),
    )
    if runner:
        subcommands[runner] = replace(PROJECT_RUN, name=f"{name} {runner}")
    for word, (looking, changing) in within.items():
        subcommands[word] = manager(f"{name} {word}", looking, changing, *options)
    return Program(
        name,
        options=options,
        options_first=True,
        operands=Operands.DATA,
        subcommands=subcommands,
        other=Program(
            f"{name} other",
            other,
            "has a subcommand that is not known",
            operands=Operands.FREE,
            options=options,
            reader=_unless(asking_words) if other is Decision.ALLOW else None,
        ),
    )


_NPM_QUIET = """
test t run run-script start build ls list outdated version help why view-local explain root
prefix bin
"""
_NPM_ASKS = """
install i ci add update upgrade uninstall remove rm audit publish unpublish init create login
logout whoami config set get cache link unlink exec x dlx dedupe prune rebuild pack view info
search owner token access deprecate dist-tag fund doctor import store patch setup
"""
_YARN_ASKS = f"""{_NPM_ASKS}
global npm plugin policies up upgrade-interactive self-update node autoclean unplug tag team env
generate-lock-entry licenses approve-builds server deploy fetch import patch-commit foreach
"""
_NPM = (
    runs("--script-shell --node-options --userconfig --globalconfig --shell"),
    asks("works elsewhere", "--prefix -C --cwd --dir", Value.NEEDED),
    flags("--silent -s --if-present -w --workspaces -r --offline -v --version"),
)
_PIP_QUIET = "list show freeze check help debug inspect hash"
_PIP_ASKS = "install download wheel uninstall index search config cache"
_BUNDLE_QUIET = "check list show info outdated version help"
_BUNDLE_ASKS = "install update add remove config package gem open console init lock clean"
_FETCHING = """
uvx pipx bunx corepack easy_install gem cpan cpanm luarocks rustup nvm
volta asdf mise sdk twine virtualenv pre-commit cookiecutter copier degit create-react-app yo
vcpkg conan cabal stack opam mix rebar3 nuget dart flutter pub swiftpm deno-install
"""

PACKAGES = table(
    *(manager(name, _PIP_QUIET, _PIP_ASKS) for name in ("pip", "pip3")),
    manager(
        "uv",
        "tree version help",
        "sync add remove lock tool venv init build publish python cache self export",
        flags("--offline -q --quiet --no-progress"),
        moves_to("--directory --project"),
        runner="run",
        within={"pip": ("list show freeze check tree", "install uninstall sync compile")},
    ),
    manager(
        "poetry",
        "show check version env about",
        "install add remove update lock publish self config build init new source",
        runner="run",
    ),
    manager("pipenv", "graph check", "install sync update lock uninstall shell", runner="run"),
    manager("pdm", "list info", "install add sync update lock publish", runner="run"),
    manager("hatch", "version", "build publish env shell", runner="run"),
    manager("rye", "list show", "sync add install", runner="run"),
    manager("npm", _NPM_QUIET, _NPM_ASKS, *_NPM),
    replace(manager("yarn", _NPM_QUIET, _YARN_ASKS, *_NPM, other=Decision.ALLOW), reader=_bare),
    manager("pnpm", _NPM_QUIET, _YARN_ASKS, *_NPM, takes("--filter -F"), other=Decision.ALLOW),
    manager(
        "deno", "test lint fmt check", "run install cache eval repl upgrade compile", runs("--eval")
    ),
    manager("bun", "test build", "install add run x create upgrade remove update"),
    *(
        replace(manager(name, _BUNDLE_QUIET, _BUNDLE_ASKS, runner="exec"), reader=_bare)
        for name in ("bundle", "bundler")
    ),
    manager(
        "composer",
        "validate show check-platform-reqs test run run-script licenses why why-not",
        "install require update remove global create-project exec config self-update dump-autoload",
    ),
    manager(
        "dotnet",
        "build test format clean run list sln",
        "add remove restore tool nuget new publish pack workload exec dev-certs msbuild vstest",
        flags("--version --info --list-sdks --list-runtimes --help -h"),
        asks("works on another project", "--project", Value.NEEDED),
    ),
    *asking(_FETCHING, "downloads and runs packages", network=True, operands=Operands.FREE),
)
