"""Commands that answer: approve and deny."""

from __future__ import annotations

from typing import Any

from runtime import approvals

from . import output


def add(commands: Any) -> None:
    """Register the commands of this module."""
    approve = commands.add_parser("approve", help="say yes to a question")
    approve.add_argument("id")
    approve.add_argument("--scope", default="once", help="once, task, run or workspace:YYYY-MM-DD")
    approve.add_argument("--comment", default="", help="for the record; the answer to a question")
    approve.set_defaults(call=_approve)
    deny = commands.add_parser("deny", help="say no to a question")
    deny.add_argument("id")
    deny.add_argument("--comment", default="", help="a reason, for the model")
    deny.set_defaults(call=_deny)


def _approve(call: Any) -> int:
    options = call.options
    return _decide(call, "approve", options.scope, options.comment)


def _deny(call: Any) -> int:
    return _decide(call, "deny", "once", call.options.comment)


def _decide(call: Any, verdict: str, scope: str, comment: str) -> int:
    approval = approvals.decide(
        call.options.id, by=call.user, verdict=verdict, scope=scope, comment=comment
    )
    if call.json:
        output.document({"id": approval.pk, "state": approval.state})
    else:
        output.text(f"{approval.pk} {approval.state}")
    return 0
