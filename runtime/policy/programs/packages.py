"""Package managers: what stays in the project is ordinary, what downloads is asked for."""

from __future__ import annotations

from dataclasses import replace

from ..decision import Decision
from .model import (
    Operands,
    Option,
    Program,
    Value,
    asking,
    asks,
    flags,
    moves_to,
    runs,
    table,
)
from .wrappers import PROJECT_RUN

_DOWNLOADS = "downloads, installs or publishes code"


def manager(
    name: str,
    quiet: str,
    asking_words: str,
    *options: Option,
    other: Decision = Decision.ASK,
    runs_projects: bool = False,
) -> Program:
    """A program with subcommands: `quiet` ones stay in the project, the others are asked for.
    `runs_projects`: its `run` is followed by a command line of the project."""
    subcommands = table(
        *(
            Program(f"{name} {word}", operands=Operands.FREE, options=options)
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
    if runs_projects:
        subcommands["run"] = replace(PROJECT_RUN, name=f"{name} run")
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
_NPM = (
    runs("--script-shell --node-options --userconfig --globalconfig --shell"),
    asks("works elsewhere", "--prefix -C --cwd --dir", Value.NEEDED),
    flags("--silent -s --if-present -w --workspaces -r --offline -v --version"),
)
_PIP_QUIET = "list show freeze check help debug inspect hash"
_PIP_ASKS = "install download wheel uninstall index search config cache"
_FETCHING = """
uvx pipx bunx corepack easy_install gem bundle bundler composer cpan cpanm luarocks rustup nvm
volta asdf mise sdk twine virtualenv pre-commit cookiecutter copier degit create-react-app yo
vcpkg conan cabal stack opam mix rebar3 nuget dart flutter pub swiftpm deno-install
"""

PACKAGES = table(
    *(manager(name, _PIP_QUIET, _PIP_ASKS) for name in ("pip", "pip3")),
    manager(
        "uv",
        "tree version help",
        "sync add remove lock pip tool venv init build publish python cache self export",
        flags("--offline -q --quiet --no-progress"),
        moves_to("--directory --project"),
        runs_projects=True,
    ),
    manager(
        "poetry",
        "show check version env about",
        "install add remove update lock publish self config build init new source",
        runs_projects=True,
    ),
    manager(
        "pipenv", "graph check", "install sync update lock uninstall shell", runs_projects=True
    ),
    manager("pdm", "list info", "install add sync update lock publish", runs_projects=True),
    manager("hatch", "version", "build publish env shell", runs_projects=True),
    manager("rye", "list show", "sync add install", runs_projects=True),
    manager("npm", _NPM_QUIET, _NPM_ASKS, *_NPM),
    *(
        manager(name, _NPM_QUIET, _NPM_ASKS, *_NPM, other=Decision.ALLOW)
        for name in ("yarn", "pnpm")
    ),
    manager(
        "deno", "test lint fmt check", "run install cache eval repl upgrade compile", runs("--eval")
    ),
    manager("bun", "test build", "install add run x create upgrade remove update"),
    *asking(_FETCHING, "downloads and runs packages", network=True, operands=Operands.FREE),
)
