"""Commands about policy."""

from __future__ import annotations

import json
import sys
from typing import Any

from runtime import gating
from runtime.core.errors import BadInput, M31AError, NotYet

from . import output

MAX_LINE = 16 << 20


def add(commands: Any) -> None:
    """Register the commands of this module."""
    policy = commands.add_parser("policy", help="ask the gate")
    which = policy.add_subparsers(required=True, metavar="check")
    check = which.add_parser("check", help="the verdict on an action, read from stdin")
    check.add_argument("--lines", action="store_true", help="one question and answer per line")
    check.set_defaults(call=_check)
    for name in ("test", "backtest"):
        later = which.add_parser(name, help="not built yet")
        later.add_argument("rest", nargs="*")
        later.set_defaults(call=_not_yet(name))


def _not_yet(name: str) -> Any:
    def call(_: Any) -> int:
        raise NotYet(f"m31a policy {name} is not built yet.")

    return call


def _check(call: Any) -> int:
    if not call.options.lines:
        found = gating.check(_parse(sys.stdin.read(MAX_LINE + 1)))
        if call.json:
            output.document(found)
        else:
            output.text(f"{found['decision']}  {found['rule']}  {found['reason']}")
        return 0
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
