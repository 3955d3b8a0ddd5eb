"""Commands that read the record: events, audit, replay, artifacts, traces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from runtime import artifacts, runs
from runtime.core import canonical, hints
from runtime.core.errors import BadInput
from runtime.core.ids import SYSTEM_RUN
from runtime.journal import read, verify
from runtime.models import Trace
from runtime.runs import replay

from . import output


def add(commands: Any) -> None:
    """Register the commands of this module."""
    events = commands.add_parser("events", help="the events of a run, as NDJSON")
    events.add_argument("run")
    events.add_argument("--after", type=int, default=0, metavar="SEQ")
    events.set_defaults(call=_events)
    traces = commands.add_parser("traces", help="metadata of the commands that a run executed")
    traces.add_argument("run")
    traces.set_defaults(call=_traces)
    listing = commands.add_parser("artifacts", help="what a run has kept")
    listing.add_argument("run")
    listing.set_defaults(call=_artifacts)
    artifact = commands.add_parser("artifact", help="read an artifact")
    which = artifact.add_subparsers(required=True, metavar="get")
    get = which.add_parser("get", help="its bytes, on stdout")
    get.add_argument("sha256")
    get.set_defaults(call=_get)
    _add_replay(commands)
    _add_audit(commands)


def _add_replay(commands: Any) -> None:
    again = commands.add_parser("replay", help="compare or restore the tables by the journal")
    again.add_argument("run", nargs="?")
    again.add_argument("--all", action="store_true")
    what = again.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="only compare")
    what.add_argument("--rebuild", action="store_true", help="write the tables anew")
    again.set_defaults(call=_replay)


def _add_audit(commands: Any) -> None:
    audit = commands.add_parser("audit", help="is the record whole?")
    which = audit.add_subparsers(required=True, metavar="verify|export")
    check = which.add_parser("verify", help="check chains")
    check.add_argument("run", nargs="?", help="default: all, the system's chain included")
    check.add_argument("--file", help="an exported chain")
    check.set_defaults(call=_verify)
    export = which.add_parser("export", help="a chain as NDJSON")
    export.add_argument("run")
    export.set_defaults(call=_export)


def _events(call: Any) -> int:
    read.head(call.options.run)
    for event in read.every(call.options.run, call.options.after):
        output.line(event.document())
    return 0


def _traces(call: Any) -> int:
    runs.status(call.options.run)
    rows = [
        {**row, "sandbox": canonical.decode(row["sandbox"])}
        for row in Trace.objects.filter(run=call.options.run).order_by("seq").values()
    ]
    for row in rows:
        row.pop("id")
    if call.json:
        output.document(rows)
    elif rows:
        output.table(
            [row["seq"], row["program"], f"{row['argument_count']} arguments", _end(row)]
            for row in rows
        )
    return 0


def _end(row: dict[str, Any]) -> str:
    for name in ("timed_out", "cancelled"):
        if row[name]:
            return name.replace("_", " ")
    return f"status {row['status']}, {row['duration_ms']} ms"


def _artifacts(call: Any) -> int:
    runs.status(call.options.run)
    rows = list(
        artifacts.for_run(call.options.run).values("sha256", "name", "kind", "size", "action")
    )
    if call.json:
        output.document(rows)
    elif rows:
        output.table([row["sha256"], row["kind"], row["size"], row["name"]] for row in rows)
    return 0


def _get(call: Any) -> int:
    data = artifacts.get(call.options.sha256)
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return 0


def _replay(call: Any) -> int:
    options = call.options
    if bool(options.run) == options.all:
        raise BadInput("replay: name one run, or give --all.")
    names = replay.chains() if options.all else [options.run]
    if options.rebuild:
        for name in names:
            replay.rebuild(name)
    for name in names:
        if difference := replay.check(name):
            _say_replay(call, names, difference, name)
            return 1
    _say_replay(call, names, "", None)
    return 0


def _say_replay(call: Any, names: list[str], difference: str, run: str | None) -> None:
    count = len([name for name in names if name != SYSTEM_RUN])
    if call.json:
        answer = {"ok": not difference, "runs": count, "run": run, "difference": difference}
        output.document(answer)
    else:
        output.text(difference or f"{count} runs: the tables agree with the journal.")


def _verify(call: Any) -> int:
    options = call.options
    if options.file is not None:
        return _say_verified(call, [_verify_file(options.file)])
    names = [options.run] if options.run else [SYSTEM_RUN, *replay.runs()]
    found = [verify.verify(name) for name in names]
    if options.run and found[0]["ok"] and (head := verify.known_head(options.run)):
        output.note(f"{options.run}: {verify.ending(*head)}")
    return _say_verified(call, found, single=bool(options.run))


def _verify_file(name: str) -> dict[str, Any]:
    try:
        with Path(name).open(encoding="utf-8") as lines:
            return verify.verify_lines(lines)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"file: {name!r} cannot be read: {error}.") from error


def _say_verified(call: Any, found: list[dict[str, Any]], *, single: bool = True) -> int:
    bad = [one for one in found if not one["ok"]]
    answer = (bad or found)[0]
    if call.json:
        if not single and not bad:
            answer = {**answer, "run": None}
        output.document({**answer, "runs": len(found)} if not single else answer)
    else:
        for one in bad or found[:1]:
            state = "whole" if one["ok"] else f"NOT whole at {one['first_bad']}: {one['reason']}"
            note = f" ({hints.typed(one['reason'])})" if one["ok"] and one["reason"] else ""
            output.text(f"{one['run'] if single or bad else f'{len(found)} chains'}: {state}{note}")
    return 1 if bad else 0


def _export(call: Any) -> int:
    last = ""
    for last in verify.export(call.options.run):
        sys.stdout.write(last)
    sys.stdout.flush()
    if last:
        event = canonical.decode(last)
        output.note(f"{event['run']}: {verify.ending(event['seq'], event['hash'])}")
    return 0
