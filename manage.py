#!/usr/bin/env python3
"""Start here: `python3 manage.py up`. Builds its own environment in `.venv` when that is needed.

Uses nothing but the standard library until the environment stands. Everything that building
says goes to stderr, so that the standard output belongs to the command.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
LOCK = os.path.join(ROOT, ".venv.lock")
RUNTIME = "requirements.lock"
TEST = "requirements-test.lock"
OLDEST = (3, 11)
AGAIN = "M31A_BOOTSTRAPPED"
"""Set for the one re-execution after a build, so that a build that does not take cannot loop."""

USAGE = """\
usage: python3 manage.py COMMAND

  up [--host H] [--port P] [--workers N]   start everything and print a sign-in link
  demo                                     register the sample workspace and submit a run
  m31a COMMAND ...                         the command line (m31a --help lists it)
  test [PYTEST ARGUMENTS]                  run the tests
  anything else                            a Django command: check, migrate, makemigrations ...
"""


class Failure(Exception):
    """Building is not possible. The text says why and what to do."""


def main(argv: list[str]) -> int:
    """Run one command, in the environment that it needs."""
    if sys.version_info < OLDEST:
        have = ".".join(str(part) for part in sys.version_info[:3])
        return complain(
            f"M31A needs Python 3.11 or newer; this is {have} ({sys.executable}). "
            "Call manage.py with a newer one, for example: python3.11 manage.py up"
        )
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if argv else 2
    lock = TEST if argv[0] == "test" else RUNTIME
    if not inside() or not fits(lock):
        try:
            enter(lock, [os.path.join(ROOT, "manage.py"), *argv])
        except Failure as failure:
            return complain(str(failure))
    os.environ.pop(AGAIN, None)
    if argv[0] == "test":
        os.chdir(ROOT)
        os.execv(PYTHON, [PYTHON, "-m", "pytest", *argv[1:]])
    return run(argv)


def run(argv: list[str]) -> int:
    """The command itself, in the finished environment."""
    if argv[0] in ("up", "demo", "m31a"):
        from m31a_site import console

        return console.main(argv[1:] if argv[0] == "m31a" else argv)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "m31a_site.settings")
    from django.core.management import execute_from_command_line

    from m31a_site import checks  # noqa: F401 - registers the product's own checks

    execute_from_command_line([sys.argv[0], *argv])
    return 0


def inside() -> bool:
    """Whether this process runs in `.venv`."""
    return os.path.realpath(sys.prefix) == os.path.realpath(VENV)


def stamp_path(lock: str) -> str:
    return os.path.join(VENV, lock + ".stamp")


def stamp(lock: str) -> str:
    """What a finished environment for this lock file carries.

    The place is part of it, since an environment that was moved holds the old paths.
    """
    with open(os.path.join(ROOT, lock), "rb") as file:
        content = file.read()
    cache_tag = str(sys.implementation.cache_tag)
    return hashlib.sha256(b"\0".join([content, cache_tag.encode(), os.fsencode(ROOT)])).hexdigest()


def fits(lock: str) -> bool:
    """Whether `.venv` was finished for this lock file, this Python and this place."""
    try:
        with open(stamp_path(lock), encoding="ascii") as file:
            return file.read() == stamp(lock) and os.access(PYTHON, os.X_OK)
    except (OSError, UnicodeDecodeError):
        return False


def inhabit() -> None:
    """For a script that needs what the tests need: it goes on in `.venv`, built where it must be."""
    if inside() and fits(TEST):
        os.environ.pop(AGAIN, None)
        return
    try:
        enter(TEST, sys.argv)
    except Failure as failure:
        sys.exit(complain(str(failure)))


def enter(lock: str, words: list[str]) -> None:
    """Build what is missing, then become the same command in `.venv` (same process id)."""
    if not fits(lock):
        if os.environ.get(AGAIN) == str(os.getpid()):
            raise Failure(f"{VENV} was built, but does not fit. Remove it and try again.")
        build(lock)
        os.environ[AGAIN] = str(os.getpid())
    elif not inside() and os.environ.get(AGAIN) == str(os.getpid()):
        raise Failure(f"{PYTHON} does not run in {VENV}. Remove {VENV} and try again.")
    else:
        os.environ[AGAIN] = str(os.getpid())
    if sys.stdout is not None:  # closed by the caller
        sys.stdout.flush()
    os.execv(PYTHON, [PYTHON, *words])


def build(lock: str) -> None:
    """Make `.venv` for this lock file, one process at a time; the stamp comes last."""
    import fcntl

    try:
        holder = open(LOCK, "a")  # noqa: SIM115 - held until this process becomes the command
    except OSError as error:
        raise Failure(
            f"{ROOT} cannot be written ({error.strerror}), and {VENV} must be built."
        ) from error
    with holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        if fits(lock):
            return  # another process built it while this one waited
        # The test lock holds all of the runtime's, so it is installed over a runtime that fits.
        if not fits(RUNTIME):
            say(f"Building the environment in {VENV} (once; a few minutes at most) ...")
            shutil.rmtree(VENV, ignore_errors=True)
            create()
        else:
            say("Adding the test tools to the environment ...")
        install(lock)
        write(os.path.join(VENV, "bin", "m31a"), console_script(), 0o755)
        for name in {RUNTIME, lock}:
            write(stamp_path(name), stamp(name), 0o644)


def create() -> None:
    """An empty virtual environment of the Python that runs this."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    uv = shutil.which("uv")
    if uv and attempt(
        [uv, "venv", "--quiet", "--no-project", "--no-config", "--python", base, VENV]
    ):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    if not attempt([base, "-m", "venv", VENV]):
        raise Failure(
            f"{base} cannot make a virtual environment. On Debian and Ubuntu install the package "
            "python3-venv (or uv), then try again."
        )


def install(lock: str) -> None:
    """Everything that the lock file pins, each file checked against its hash."""
    path = os.path.join(ROOT, lock)
    uv = shutil.which("uv")
    if uv and attempt(
        [uv, "pip", "install", "--quiet", "--no-config", "--python", PYTHON]
        + ["--require-hashes", "--no-deps", "--compile-bytecode", "-r", path]
    ):
        return
    if uv:
        say("uv did not succeed; trying pip.")
    if not has_pip() or not attempt(
        [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        + ["--require-hashes", "--no-deps", "-r", path]
    ):
        raise Failure(
            f"The packages of {lock} could not be installed; the reason stands above. "
            "Check the network and pip's configuration, then try again."
        )


def has_pip() -> bool:
    """Whether `.venv` has pip; one that uv made gets it now."""
    pip = attempt(
        [PYTHON, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('pip'))"]
    )
    return pip or attempt([PYTHON, "-m", "ensurepip", "--default-pip"])


def attempt(command: list[str]) -> bool:
    """Run a command whose output goes to stderr; whether it succeeded."""
    sys.stderr.flush()
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2).returncode == 0
    except OSError as error:
        say(f"{command[0]}: {error.strerror}")
        return False


def console_script() -> str:
    """The program `m31a`: the same as `manage.py m31a`, wherever it is called from."""
    manage = os.path.join(ROOT, "manage.py")
    return f'#!/bin/sh\nexec {shlex.quote(PYTHON)} {shlex.quote(manage)} m31a "$@"\n'


def write(path: str, text: str, mode: int) -> None:
    """A file in one step: whole, or not there."""
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(temporary, mode)
    os.replace(temporary, path)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def complain(text: str) -> int:
    say(text)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
