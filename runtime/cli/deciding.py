"""Commands that answer: approve, deny and edit."""

from __future__ import annotations

import json
import sys
from typing import Any

from runtime import approvals
from runtime.core.errors import BadInput, NotFound
from runtime.models import Approval

from . import output

MAX_ACTION_BYTES = 1 << 20


def add(commands: Any) -> None:
    """Register the commands of this module."""
    approve = commands.add_parser("approve", help="say yes to a question, or to several")
    _which(approve)
    approve.add_argument("--scope", default="once", help="once, task, run or workspace:YYYY-MM-DD")
    approve.add_argument(
        "--rule", default="", metavar="ID", help="with a wider scope: remember this offered rule"
    )
    approve.add_argument("--comment", default="", help="for the record; the answer to a question")
    approve.set_defaults(call=_approve)
    deny = commands.add_parser("deny", help="say no to a question, or to several")
    _which(deny)
    deny.add_argument("--comment", default="", help="a reason, for the model")
    deny.set_defaults(call=_deny)
    edit = commands.add_parser("edit", help="change what was asked about; the gate judges it anew")
    edit.add_argument("id")
    edit.add_argument("--action", required=True, metavar="JSON", help="the whole action, or -")
    edit.add_argument("--seen", metavar="DIGEST", help="refuse if it is another action by now")
    edit.set_defaults(call=_edit)


def _which(command: Any) -> None:
    command.add_argument("id")
    command.add_argument("more", nargs="*", metavar="id", help="more questions, answered once each")
    command.add_argument("--seen", metavar="DIGEST", help="refuse if it is another action by now")


def _approve(call: Any) -> int:
    options = call.options
    return _decide(call, "approve", options.scope, options.comment, options.rule)


def _deny(call: Any) -> int:
    return _decide(call, "deny", "once", call.options.comment)


def _decide(call: Any, verdict: str, scope: str, comment: str, rule: str = "") -> int:
    options = call.options
    if options.more:
        return _decide_many(call, verdict, scope, comment, rule)
    approval = approvals.decide(
        options.id,
        by=call.user,
        verdict=verdict,
        scope=scope,
        comment=comment,
        seen_digest=options.seen,
        rule=rule,
    )
    return _told(call, approval)


def _decide_many(call: Any, verdict: str, scope: str, comment: str, rule: str) -> int:
    """Exit status 1 where one of the answers did not count."""
    options = call.options
    alone = (("scope", scope, "once"), ("seen", options.seen, None), ("rule", rule, ""))
    for name, given, plain in alone:
        if given != plain:
            raise BadInput(
                f"--{name} is for one question, and {1 + len(options.more)} are named.",
                remedy="Answer it by itself.",
                field=name,
            )
    wanted = [options.id, *options.more]
    digests = dict(Approval.objects.filter(pk__in=wanted).values_list("pk", "digest"))
    for identifier in wanted:
        if identifier not in digests:
            raise NotFound(
                f"There is no approval {identifier}; none was answered.",
                remedy="`m31a approvals` lists them.",
            )
    pairs = [(identifier, digests[identifier]) for identifier in wanted]
    answers = approvals.decide_many(pairs, by=call.user, verdict=verdict, comment=comment)
    if call.json:
        rows = [{"id": a.approval, "state": a.state, "error": a.error} for a in answers]
        output.document({"approvals": rows})
    else:
        for answer in answers:
            output.text(f"{answer.approval} {answer.error or answer.state}")
    return 1 if any(answer.error for answer in answers) else 0


def _edit(call: Any) -> int:
    text = call.options.action
    if text == "-":
        text = sys.stdin.read(MAX_ACTION_BYTES + 1)
    if len(text) > MAX_ACTION_BYTES:
        raise BadInput(f"action: it is over {MAX_ACTION_BYTES} characters.", field="action")
    try:
        action = json.loads(text)
    except ValueError as error:
        raise BadInput(
            f"action: it is no JSON: {error}.",
            remedy="`m31a approvals --full --json` shows the action that was asked about.",
            field="action",
        ) from error
    done = approvals.edit(
        call.options.id, by=call.user, action=action, seen_digest=call.options.seen
    )
    return _told(call, done)


def _told(call: Any, approval: Approval) -> int:
    if call.json:
        output.document({"id": approval.pk, "state": approval.state})
    else:
        output.text(f"{approval.pk} {approval.state}")
    return 0
