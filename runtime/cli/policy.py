"""Commands about policy."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from runtime import gating
from runtime.core.errors import BadInput, M31AError
from runtime.gating.backtest import MAX_DECISIONS, Backtest
from runtime.policy.language.documents import NAMES

from . import output

MAX_LINE = 16 << 20
MAX_SHOWN = 100
"""Characters of an action that a line for people repeats."""


def add(commands: Any) -> None:
    """Register the commands of this module."""
    policy = commands.add_parser("policy", help="ask the gate, test its rules")
    which = policy.add_subparsers(required=True, metavar="check|test|backtest")
    check = which.add_parser("check", help="the verdict on an action, read from stdin")
    check.add_argument("--lines", action="store_true", help="one question and answer per line")
    check.set_defaults(call=_check)
    test = which.add_parser("test", help="read all policy files and try their examples")
    test.set_defaults(call=_test)
    backtest = which.add_parser("backtest", help="what a changed file would have decided")
    backtest.add_argument("file", metavar="FILE", help="a policy file; nothing of it takes effect")
    backtest.add_argument("--layer", choices=NAMES, default="", help="where it belongs")
    backtest.add_argument("--for", dest="subject", default="", metavar="NAME", help="whose it is")
    backtest.add_argument("--limit", type=_count, default=MAX_DECISIONS, help="decisions at most")
    backtest.set_defaults(call=_backtest)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000000")
    return int(text)


def _check(call: Any) -> int:
    if not call.options.lines:
        found = gating.check(_parse(sys.stdin.read(MAX_LINE + 1)))
        if call.json:
            output.document(found)
        else:
            output.text(f"{found['decision']}  {found['rule']}  {found['reason']}")
        return 0
    gating.policies.require()
    while line := sys.stdin.readline(MAX_LINE + 1):
        if line.strip():
            output.line(_answer(line))
    return 0


def _answer(line: str) -> dict[str, Any]:
    """A verdict, or an error in its place, so that answers keep step with questions."""
    try:
        return gating.check(_parse(line))
    except M31AError as error:
        return {"error": str(error)}


def _parse(text: str) -> object:
    if len(text) > MAX_LINE:
        raise BadInput(f"policy check: the input is over {MAX_LINE} characters.")
    try:
        # Python's parser: it admits what a hostile caller may send, and the gate refuses it.
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"policy check: the input is no JSON: {error}.") from None


def _test(call: Any) -> int:
    """Every file, every example; exit code 1 where one fails."""
    documents = gating.policies.all_documents()
    faults = [fault for document in documents for fault in document.faults]
    examples = sum(document.examples for document in documents)
    if call.json:
        output.document(
            {
                "ok": not faults,
                "folder": str(gating.policies.folder()),
                "files": [
                    {
                        "file": document.name,
                        "layer": document.layer.name,
                        "rules": len(document.layer.rules),
                        "examples": document.examples,
                        "faults": len(document.faults),
                    }
                    for document in documents
                ],
                "examples": examples,
                "failures": [asdict(fault) for fault in faults],
            }
        )
        return 1 if faults else 0
    for fault in faults:
        output.text(str(fault))
    held = f"{len(documents)} files, {examples} examples in {gating.policies.folder()}"
    output.text(f"{held}: {len(faults)} failures." if faults else f"{held}: all well.")
    return 1 if faults else 0


def _backtest(call: Any) -> int:
    """What would change. Nothing is run, recorded or put in force."""
    options = call.options
    changed = gating.backtest.read_file(options.file, options.layer, options.subject)
    found = gating.backtest.run(changed, options.limit)
    if call.json:
        output.document(_as_document(found))
        return 0
    for one in found.changes:
        body = json.dumps(one.body, ensure_ascii=False)
        shown = body if len(body) <= MAX_SHOWN else f"{body[:MAX_SHOWN]}…"
        reason = f"{one.then.rule}: {one.then.reason}"
        output.text(f"{one.run}  {one.action}  {one.now.decision} → {one.then.decision}  {reason}")
        output.text(f"    {shown}")
    more = " Older ones were left out." if found.more else ""
    output.text(
        f"{len(found.changes)} of {found.decided} recorded decisions would change as "
        f"{found.document.layer.name}.{more}"
    )
    if found.drifted:
        output.note(f"{found.drifted} are already decided otherwise by the rules in force.")
    if found.redacted:
        output.note(f"{found.redacted} were judged without a secret that is not kept.")
    return 0


def _as_document(found: Backtest) -> dict[str, Any]:
    return {
        "file": found.document.name,
        "layer": found.document.layer.name,
        "decided": found.decided,
        "drifted": found.drifted,
        "redacted": found.redacted,
        "more": found.more,
        "changes": [asdict(change) for change in found.changes],
    }
