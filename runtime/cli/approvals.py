"""Commands for reviewers: open questions, and answers that are remembered."""

from __future__ import annotations

import json
from typing import Any

from runtime import approvals
from runtime.core import clock
from runtime.models import Approval, Grant
from runtime.present import units

from . import output

MAX_LISTED = 500


def add(commands: Any) -> None:
    """Register the commands of this module."""
    listing = commands.add_parser("approvals", help="questions that wait for a person")
    listing.add_argument(
        "--full", action="store_true", help="also the digest, and the rules that may be remembered"
    )
    listing.set_defaults(call=_list)
    grants = commands.add_parser("grants", help="answers that are remembered; `revoke ID`")
    grants.set_defaults(call=_grants)
    inside = grants.add_subparsers(metavar="COMMAND")
    inside.add_parser("list", help="those that still count").set_defaults(call=_grants)
    revoke = inside.add_parser("revoke", help="take one back")
    revoke.add_argument("id")
    revoke.set_defaults(call=_revoke)


def _list(call: Any) -> int:
    rows = list(approvals.pending(call.user))
    if call.json:
        made = full if call.options.full else document
        output.document({"approvals": [made(row) for row in rows]})
        return 0
    if not rows:
        output.text("Nothing waits for a person.")
        return 0
    for row in rows:
        card = approvals.card(row)
        output.text(f"{row.pk}  {row.decision}  {card['sentence']}{_overdue(row)}")
    return 0


def document(approval: Approval) -> dict[str, Any]:
    """An approval as the command line gives it."""
    return {
        "id": approval.pk,
        "run": approval.run_id,
        "task": approval.task_id,
        "decision": approval.decision,
        "action": approvals.card(approval)["action"],
        "rule": approval.rule,
        "expires_at": clock.stamp(approval.expires_at),
        "state": approval.state,
    }


def _overdue(approval: Approval) -> str:
    """What the list adds to a question that is past a reminder."""
    if not approval.reminded:
        return ""
    since, until = units.exact(approval.requested_at), units.exact(approval.expires_at)
    return f"  (overdue: waits since {since}, expires {until})"


def full(approval: Approval) -> dict[str, Any]:
    """The same with what `approve --seen` and `approve --rule` take, and the reminders so far."""
    rules = [{"id": one.digest, "text": one.text()} for one in approvals.offers(approval)]
    more = {"digest": approval.digest, "rules": rules, "reminded": approval.reminded}
    return {**document(approval), **more}


def _grants(call: Any) -> int:
    rows = list(approvals.live_grants(call.user)[:MAX_LISTED])
    if call.json:
        output.document({"grants": [grant(row) for row in rows]})
        return 0
    if not rows:
        output.text("No answer is remembered.")
    for row in rows:
        until = f", until {clock.stamp(row.expires_at)}" if row.expires_at else ""
        output.text(
            f"{row.pk}  {row.lifts}  {approvals.card(row.approval)['sentence']}  "
            f"({row.scope} {row.subject}, by {row.granted_by}{until})"
        )
    return 0


def _revoke(call: Any) -> int:
    row = approvals.revoke(call.options.id, by=call.user)
    if call.json:
        output.document(grant(row))
    else:
        output.text(f"{row.pk} revoked by {row.revoked_by}")
    return 0


def grant(row: Grant) -> dict[str, Any]:
    """A remembered answer as the command line gives it."""
    return {
        "id": row.pk,
        "approval": row.approval_id,
        "action": approvals.card(row.approval).get("action"),
        "key": row.key,
        "rule": json.loads(row.rule) if row.rule else None,
        "scope": row.scope,
        "subject": row.subject,
        "lifts": row.lifts,
        "by": row.granted_by,
        "granted_at": clock.stamp(row.granted_at),
        "expires_at": clock.stamp(row.expires_at) if row.expires_at else None,
        "revoked_at": clock.stamp(row.revoked_at) if row.revoked_at else None,
        "revoked_by": row.revoked_by,
    }
