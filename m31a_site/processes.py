"""The commands that are processes: `up`, and the three that it starts.

They are parsed before Django is loaded, because its settings read what they say.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from m31a_site import data, environment

ROLES = {"up": "command", "web": "web", "cluster": "worker", "reconcile": "reconciler"}
NAMES = frozenset(ROLES)
_HELP = {
    "up": "start the web server, the workers and the reconciler, and print a sign-in link",
    "web": "serve the site; part of up",
    "cluster": "run the workers; part of up",
    "reconcile": "take back what dead workers held; part of up",
}


def run(argv: list[str]) -> int:
    """Run one of them; `argv` starts with its name. Raises the errors of `runtime.core.errors`."""
    name = argv[0]
    options = _parser(name).parse_args(argv[1:])
    environment.ROLE = ROLES[name]
    for setting in ("host", "port", "workers"):
        if hasattr(options, setting):
            # For this process's settings and, by the environment, for its children's.
            setattr(environment, setting.upper(), getattr(options, setting))
            os.environ[f"M31A_{setting.upper()}"] = str(getattr(options, setting))
    return _up() if name == "up" else _child(name, getattr(options, "fd", None))


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python3 manage.py m31a {name}", description=_HELP[name].capitalize() + "."
    )
    if name in ("up", "web"):
        parser.add_argument("--host", default=environment.HOST, help="address to listen on")
        parser.add_argument("--port", type=int, default=environment.PORT, help="0 takes a free one")
    if name in ("up", "cluster"):
        parser.add_argument("--workers", type=_count, default=environment.WORKERS)
    if name == "web":
        parser.add_argument("--fd", type=int, help="an open, listening socket to use instead")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 64")
    return int(text)


@contextmanager
def loading() -> Iterator[None]:
    """Nothing is collected while code is loaded: it stays. It takes a fifth off a start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def load() -> None:
    """Load Django with the product's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "m31a_site.settings")
    import django

    django.setup()


def _up() -> int:
    """Everything that can be refused is refused before anything is made or started."""
    from runtime.worker import address, folder

    address.check(environment.HOST, https=environment.HTTPS)
    if data.exists(environment.DATA_DIR):
        # Whoever runs on this folder already is named before the port that they hold is.
        data.prepare(environment.DATA_DIR)
        folder.lock(environment.DATA_DIR)
        listener = address.listen(environment.HOST, environment.PORT)
    else:
        listener = address.listen(environment.HOST, environment.PORT)
        data.prepare(environment.DATA_DIR)
        folder.lock(environment.DATA_DIR)
    with loading():
        load()
        from m31a_site import database
        from runtime.worker import leftovers, supervisor
    leftovers.reap(environment.DATA_DIR)
    database.prepare(environment.DATA_DIR)
    database.refuse_unfit()
    command = [sys.executable, str(environment.ROOT / "manage.py"), "m31a"]
    return supervisor.up(listener, command, environment.DATA_DIR)


def _child(name: str, descriptor: int | None) -> int:
    with loading():
        load()
        from m31a_site import database
        from runtime.worker import entry
    if name != "web":
        database.refuse_unfit()
    if name == "web":
        return entry.web(environment.HOST, environment.PORT, descriptor)
    return entry.cluster() if name == "cluster" else entry.reconcile()
