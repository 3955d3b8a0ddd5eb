"""Commands for reviewers."""

from __future__ import annotations

from typing import Any

from runtime import approvals
from runtime.core import clock
from runtime.models import Approval

from . import output


def add(commands: Any) -> None:
    """Register the commands of this module."""
    listing = commands.add_parser("approvals", help="questions that wait for a person")
    listing.set_defaults(call=_list)


def _list(call: Any) -> int:
    rows = list(approvals.pending(call.user))
    if call.json:
        output.document({"approvals": [document(row) for row in rows]})
        return 0
    if not rows:
        output.text("Nothing waits for a person.")
        return 0
    for row in rows:
        card = approvals.card(row)
        output.text(f"{row.pk}  {row.decision}  {card['sentence']}")
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
