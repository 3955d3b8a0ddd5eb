"""`m31a`: the entry point of the command line.

Decides what a command may make, takes the options that stand anywhere, and turns errors into
one clear line and an exit code. The commands themselves live in `runtime.cli`.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import NamedTuple

MAKES = frozenset({"up", "demo", "user add", "workspace add"})
"""Commands that create the data folder and bring the database up to date."""
WITHOUT = frozenset({"doctor", "sandbox run"})
"""Commands that work without a data folder."""
PROCESSES = frozenset({"up", "web", "cluster", "reconcile"})
STARTS = frozenset({"work", "submit", "demo", "retry"})
"""Commands that begin work: refused where the journal is not protected, as `up` is."""
HELP = frozenset({"-h", "--help"})


class Call(NamedTuple):
    """A command line without the options that stand anywhere."""

    argv: list[str]
    as_user: str | None
    json: bool

    def has_help(self) -> bool:
        """Whether only an explanation is wanted."""
        before = self.argv[: self.argv.index("--")] if "--" in self.argv else self.argv
        return not before or bool(HELP & set(before))

    def name(self) -> str:
        """The command: one word, or two where the first names a group."""
        first, second = (*self.argv, "", "")[:2]
        pair = f"{first} {second}"
        return pair if pair in MAKES | WITHOUT else first


class Usage(Exception):
    """The command line itself is wrong."""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    call: Call | None = None
    try:
        call = split(arguments)
        if call.argv[:1] == ["--version"]:
            print(f"m31a {version()}")
            return 0
        return run(call)
    except Usage as error:
        return complain(str(error), 2)
    except BrokenPipeError:
        # The reader (head, less) has seen enough; Python must not try to flush to it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return complain("Interrupted.", 130)
    except Exception as error:  # noqa: BLE001 - the outermost door: it tells all
        return explain(error, call)


def split(arguments: list[str]) -> Call:
    """Take `--json` and `--as USER` out, wherever they stand before `--`. Raises `Usage`."""
    argv: list[str] = []
    as_user, json, rest = None, False, iter(arguments)
    for word in rest:
        if word == "--":
            argv += [word, *rest]
        elif word == "--json":
            json = True
        elif word == "--as" or word.startswith("--as="):
            as_user = word[5:] if word != "--as" else next(rest, "")
            if not as_user or as_user.startswith("-"):
                raise Usage("--as needs the name of a person: --as USER.")
        else:
            argv.append(word)
    if argv[:1] == ["help"]:
        argv[0] = "--help"
    return Call(argv, as_user, json)


def run(call: Call) -> int:
    """Prepare what the command needs, then run it."""
    if call.argv and call.argv[0] in PROCESSES:
        from m31a_site import processes

        return processes.run(call.argv)
    from m31a_site import data, environment, processes

    name = call.name()
    makes = name in MAKES and not call.has_help()
    needs = not makes and not call.has_help() and name not in WITHOUT
    if makes:
        data.prepare(environment.DATA_DIR)
    elif needs and not data.exists(environment.DATA_DIR):
        return complain(no_data(str(environment.DATA_DIR)), 2)
    if name == "work":
        environment.ROLE = "worker"
    with processes.loading():
        processes.load()
        from runtime.cli import main as commands

        commands.load(call.argv)
    if makes:
        from m31a_site import database

        database.prepare(environment.DATA_DIR)
    if name in STARTS and not call.has_help():
        from m31a_site import database

        database.refuse_unfit()
    return commands.run(call.argv, call.as_user, call.json)


def no_data(folder: str) -> str:
    """What to do where nothing was set up."""
    return (
        f"There is no data folder at {folder}. Set M31A_DATA_DIR to the one that you mean, "
        "or start with `python3 manage.py up`, which makes it."
    )


def explain(error: Exception, call: Call | None) -> int:
    """One line for what is meant for people, the whole trace for what is a fault of ours."""
    from environs import EnvError

    from m31a_site.data import DataFolderError
    from runtime.core import hints
    from runtime.core.errors import M31AError

    if isinstance(error, M31AError):
        return complain(hints.typed(str(error)), error.exit_code)
    if isinstance(error, DataFolderError):
        return complain(str(error), 2)
    if isinstance(error, EnvError):
        return complain(f"A setting cannot be used: {error}", 2)
    brings_up_to_date = call is not None and call.name() in MAKES | PROCESSES
    stale = not brings_up_to_date and stale_database()
    if not (stale and concerns_database(error)):
        traceback.print_exception(error, file=sys.stderr)
    if stale:
        return complain("The database is older than the program. Run `python3 manage.py up`.", 2)
    return 1


def concerns_database(error: Exception) -> bool:
    """Whether the database itself said no: where it is too old, nothing more need be told."""
    from django.db import DatabaseError

    return isinstance(error, DatabaseError)


def stale_database() -> bool:
    """Whether migrations are missing, which explains most faults after an update."""
    if "django.db" not in sys.modules:
        return False
    from django.apps import apps

    if not apps.ready:
        return False
    from m31a_site import database
    from runtime.core.errors import Unavailable

    try:
        return database.pending()
    except Unavailable:
        return False


def version() -> str:
    """The version in pyproject.toml, read without loading anything else."""
    import tomllib
    from pathlib import Path

    text = (Path(__file__).resolve().parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def complain(text: str, code: int) -> int:
    """Say one thing on stderr."""
    print(text, file=sys.stderr)
    return code
