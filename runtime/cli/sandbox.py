"""Commands about the cage: run one command in it as a worker would."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from runtime.core.commands import Command, Exec, Shell
from runtime.core.errors import BadInput, M31AError, NotFound
from runtime.policy.authorised import Authorised, by_operator
from runtime.sandbox import Cage, OneShot, Result, pick_uid
from runtime.workspaces.space import RunSpace

from . import output


class Runner(Protocol):
    """Something that runs one command."""

    def run(
        self,
        authorised: Authorised[Command],
        *,
        timeout: float | None = None,
        hosts: Sequence[str] = (),
    ) -> Result: ...


def add(commands: Any) -> None:
    """Register the commands of this module."""
    sandbox = commands.add_parser("sandbox", help="the cage by itself")
    which = sandbox.add_subparsers(required=True, metavar="run")
    run = which.add_parser("run", help="one command, confined to a directory")
    place = run.add_mutually_exclusive_group()
    place.add_argument("--root", metavar="DIR", help="a directory of yours (default: .)")
    place.add_argument("--workspace", metavar="NAME", help="a throw-away worktree of HEAD")
    run.add_argument("--timeout", type=float, metavar="S")
    run.add_argument("--host", action="append", default=[], metavar="HOST[:PORT]")
    run.add_argument("--shell", metavar="TEXT")
    run.add_argument("--lines", action="store_true", help='{"argv": […], "timeout": S} per line')
    run.add_argument("argv", nargs="*", metavar="ARGV")
    run.set_defaults(call=_run)


def _run(call: Any) -> int:
    options = call.options
    given = [bool(options.argv), options.shell is not None, options.lines]
    if sum(given) != 1:
        raise BadInput(
            "sandbox run: give one of -- ARGV…, --shell TEXT or --lines.",
            remedy="For instance: `m31a sandbox run --root . -- ls -l`",
        )
    _check_timeout(options.timeout)
    with _runner(options) as runner:
        if options.lines:
            return _lines(runner, options.host)
        command: Command = (
            Shell(options.shell)
            if options.shell is not None
            else Exec(options.argv[0], tuple(options.argv[1:]))
        )
        result = runner.run(
            by_operator(command, "sandbox run"), timeout=options.timeout, hosts=options.host
        )
        output.document(result.report())
    return 0


def _check_timeout(seconds: object) -> None:
    if seconds is None:
        return
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not number or not 0 < float(str(seconds)) <= 3600:
        raise BadInput(f"timeout: {seconds!r} is none.", remedy="Give seconds, at most 3600.")


@contextmanager
def _runner(options: Any) -> Iterator[Runner]:
    if not options.workspace:
        with OneShot(options.root or ".") as shot:
            yield shot
        return
    with tempfile.TemporaryDirectory(prefix="m31a-sandbox-") as folder:
        own = Path(folder)
        space = RunSpace(
            own / "space", _workspace(options.workspace), pick_uid(set()), etc=own / "etc"
        )
        base, _, _ = space.create("sandbox")
        try:
            with Cage(space.spec("sandbox-run")) as cage:
                space.populate(cage, base)
                yield cage
        finally:
            space.remove()


def _workspace(name: str) -> Any:
    from django.conf import settings

    from runtime.models import Workspace

    known = (settings.M31A.DATA_DIR / "keys" / "secret").is_file()
    found = Workspace.objects.filter(name=name).first() if known else None
    if found is None:
        raise NotFound(
            f"There is no workspace {name!r}.", remedy="`m31a workspace list` shows them."
        )
    return found


def _lines(runner: Runner, hosts: list[str]) -> int:
    while line := sys.stdin.readline():
        if line.strip():
            output.line(_answer(runner, line, hosts))
    return 0


def _answer(runner: Runner, line: str, hosts: list[str]) -> dict[str, Any]:
    """A result, or an error in its place, so that answers keep step with commands."""
    try:
        wish = json.loads(line)
        argv = wish["argv"]
        if not isinstance(argv, list) or not argv or not all(isinstance(a, str) for a in argv):
            raise TypeError
        timeout = wish.get("timeout")
        _check_timeout(timeout)
        command = Exec(argv[0], tuple(argv[1:]))
        permitted = by_operator(command, "sandbox run")
        return runner.run(permitted, timeout=timeout, hosts=hosts).report()
    except (ValueError, TypeError, KeyError, AttributeError):
        return {"error": 'a line is {"argv": [TEXT, …], "timeout": SECONDS}'}
    except M31AError as error:
        return {"error": str(error)}
