"""Commands about runs: submit, watch, steer, work."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings

from runtime import budgets, runs
from runtime.core import hints
from runtime.core.errors import BadInput
from runtime.journal import read
from runtime.models import Run
from runtime.runs import demo
from runtime.worker import incarnation, inline, presence

from . import output

CODES = {"succeeded": 0, "failed": 1, "cancelled": 3, "waiting": 4}
ENDED = ("succeeded", "failed", "cancelled")
POLL_SECONDS = 0.2
MAX_SCRIPT = 16 << 20


def add(commands: Any) -> None:
    """Register the commands of this module."""
    _add_submit(commands)
    demo_ = commands.add_parser("demo", help="register the sample workspace and submit a run")
    demo_.add_argument("--provider", default="", help="a model instead of the script")
    demo_.add_argument("--wait", action="store_true")
    demo_.set_defaults(call=_demo)
    status = commands.add_parser("status", help="state of a run, or of all")
    status.add_argument("run", nargs="?")
    status.set_defaults(call=_status)
    watch = commands.add_parser("watch", help="follow a run until it ends or waits, as NDJSON")
    watch.add_argument("run")
    watch.set_defaults(call=_watch)
    cancel = commands.add_parser("cancel", help="end a run")
    cancel.add_argument("run")
    cancel.set_defaults(call=_cancel)
    retry = commands.add_parser("retry", help="try a failed run again")
    retry.add_argument("run")
    retry.add_argument("--max-attempts", type=int)
    retry.set_defaults(call=_retry)
    diff = commands.add_parser("diff", help="what a run has changed")
    diff.add_argument("run")
    diff.set_defaults(call=_diff)
    work = commands.add_parser("work", help="a worker in this process")
    mode = work.add_mutually_exclusive_group()
    mode.add_argument("--once", action="store_true", help="one slice at most")
    mode.add_argument("--until-idle", action="store_true", help="until nothing is left to do")
    work.set_defaults(call=_work)


def _add_submit(commands: Any) -> None:
    submit = commands.add_parser("submit", help="hand over an objective")
    submit.add_argument("--workspace", required=True)
    submit.add_argument("--objective", required=True)
    submit.add_argument("--workflow", default="single")
    submit.add_argument("--provider", default="")
    submit.add_argument("--mode", default="assisted")
    submit.add_argument("--require-edit", action="store_true")
    submit.add_argument("--max-steps", type=int, default=100)
    submit.add_argument("--max-attempts", type=int, default=3)
    submit.add_argument("--budget", action="append", default=[], metavar="NAME=VALUE")
    submit.add_argument("--key")
    submit.add_argument("--wait", action="store_true", help="until it ends or waits for a person")
    submit.set_defaults(call=_submit)


def _submit(call: Any) -> int:
    options = call.options
    provider, script = _read_script(options.provider or _script_of_settings())
    submitted = runs.submit(
        runs.Submission(
            workspace=options.workspace,
            objective=options.objective,
            by=call.user,
            provider=provider,
            script=script,
            mode=options.mode,
            require_edit=options.require_edit,
            max_steps=options.max_steps,
            max_attempts=options.max_attempts,
            key=options.key,
            workflow=options.workflow,
            budgets=budgets.parse(options.budget),
        )
    )
    return _answer(call, submitted)


def _demo(call: Any) -> int:
    return _answer(call, demo.submit_demo(call.user, call.options.provider))


def _answer(call: Any, submitted: runs.Submitted) -> int:
    for warning in submitted.warnings:
        output.note(f"Warning: {warning}")
    run = submitted.run
    if call.options.wait:
        state = _wait(run.pk)
        _say_run(call, run.pk)
        return CODES.get(state, 1)
    _say_run(call, run.pk)
    return 0


def _script_of_settings() -> str:
    """A `scripted:` provider that the settings name: its file is read here, as one that is given."""
    spec: str = settings.M31A.PROVIDER
    return spec if spec.startswith("scripted:") else ""


def _read_script(spec: str) -> tuple[str, bytes | None]:
    """A `scripted:` provider with the content of its file."""
    scheme, _, name = spec.partition(":")
    if scheme != "scripted":
        return spec, None
    path = Path(name)
    try:
        with path.open("rb") as file:
            script = file.read(MAX_SCRIPT + 1)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"provider: the script {name!r} cannot be read: {error}.",
            remedy="Give scripted:FILE with a file of JSON lines.",
            field="provider",
        ) from error
    if len(script) > MAX_SCRIPT:
        raise BadInput(
            f"provider: the script {name!r} is over {MAX_SCRIPT} bytes.",
            remedy="Give a shorter one.",
            field="provider",
        )
    return f"scripted:{path.name}", script


def _say_run(call: Any, run_id: str) -> None:
    run = Run.objects.get(pk=run_id)
    if call.json:
        output.document({"run": run.pk, "state": run.state, "reason": run.reason})
    else:
        reason = f" ({run.reason})" if run.reason else ""
        output.text(f"{run.pk} {run.state}{reason}")


def _wait(run_id: str) -> str:
    """Until the run has ended, or waits on a person and no task can run.

    Where no worker lives, this process works on that run.
    """
    told = False
    _note_newer(runs.status(run_id))
    while not _settled(run_id):
        if _worker_lives():
            time.sleep(POLL_SECONDS)
            continue
        if not told:
            output.note("No worker is running; this process works on the run.")
            told = True
        _work_on(run_id)
    return Run.objects.values_list("state", flat=True).get(pk=run_id)


def _settled(run_id: str) -> bool:
    state = Run.objects.values_list("state", flat=True).get(pk=run_id)
    return state in CODES


def _work_on(run_id: str) -> None:
    inline.work(run=run_id, until=lambda: _settled(run_id), until_idle=True)
    if not _settled(run_id):
        time.sleep(POLL_SECONDS)


def _worker_lives() -> bool:
    mine = incarnation.mine()
    return any(worker.incarnation != mine for worker in presence.live())


def _status(call: Any) -> int:
    run = call.options.run
    found: Any = runs.status(run) if run else runs.summaries()
    for one in [found] if run else found:
        _note_newer(one)
    if call.json:
        output.document(found)
        return 0
    rows = [found] if run else found
    if not rows:
        output.text(hints.typed("No runs yet. `demo` makes one."))
        return 0
    output.table(
        [row["run"], row["state"], row["reason"], _open(len(row["approvals"]))] for row in rows
    )
    return 0


def _note_newer(found: dict[str, Any]) -> None:
    """Why nobody here goes on with a run, where that is so."""
    if "newer" in found and found["state"] not in ENDED:
        output.note(
            f"Run {found['run']} was recorded by a newer version: {found['newer']}. "
            "This version leaves it alone; start a worker of that version."
        )


def _open(count: int) -> str:
    return f"{count} open question" + ("" if count == 1 else "s")


def _watch(call: Any) -> int:
    run, after = call.options.run, 0
    _note_newer(runs.status(run))
    while True:
        settled = _settled(run)
        for event in read.every(run, after):
            after = event.seq
            output.line(event.document())
        if settled:
            return CODES[Run.objects.values_list("state", flat=True).get(pk=run)]
        time.sleep(POLL_SECONDS)


def _cancel(call: Any) -> int:
    runs.cancel(call.options.run, call.user)
    _say_run(call, call.options.run)
    return 0


def _retry(call: Any) -> int:
    runs.retry(call.options.run, call.user, call.options.max_attempts)
    _say_run(call, call.options.run)
    return 0


def _diff(call: Any) -> int:
    patch = runs.diff(call.options.run)
    if call.json:
        output.document({"run": call.options.run, "diff": patch})
    else:
        output.text(patch)
    return 0


def _work(call: Any) -> int:
    stop = threading.Event()
    with_signals(stop)
    inline.work(once=call.options.once, until_idle=call.options.until_idle, stop=stop)
    return 0


def with_signals(stop: threading.Event) -> None:
    """A first SIGTERM or Ctrl-C lets go at the next step."""

    def note(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    handler: Callable[[int, Any], None] = note
    signal.signal(signal.SIGTERM, handler)
    signal.signal(signal.SIGINT, handler)
