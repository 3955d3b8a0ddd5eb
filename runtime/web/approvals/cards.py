"""The card of a question with its form: on its own page, in the inbox, and on the run's page."""

from __future__ import annotations

import json
from typing import Any

from django.utils import timezone

from runtime import approvals
from runtime.models import Approval, User
from runtime.people import rights
from runtime.policy import Remembered
from runtime.present import answered, html, text
from runtime.present import cards as present

from .forms import MAX_EDITED, Decision


def context(
    approval: Approval, user: User, form: Decision | None = None, *, alike: bool = False
) -> dict[str, Any]:
    """What the template `approvals/_card.html` shows. `alike` adds earlier answers."""
    now = timezone.now()
    card = dict(present.view(approval, dict(approvals.card(approval)), now))
    pending = approval.state == Approval.State.PENDING
    card["hindrance"] = text.marked(hindrance(approval, user)) if pending else ""
    card["form"] = form or Decision(initial={"seen": approval.digest})
    card["scopes"] = scopes(approval)
    card["offers"] = [_offer(one) for one in approvals.offers(approval)] if pending else []
    card["similar"] = present.similar(approvals.similar(approval), now) if alike else []
    card["overdue"] = approvals.overdue(approval, now)
    card["can_edit"] = pending and approval.kind == Approval.Kind.ACTION
    if alike and card["can_edit"]:
        action = approvals.card(approval).get("action", {})
        card["editable"] = editable(action)
        card["preview"] = _preview(approvals.preview(approval, action, user))
    card["comment_shown"] = text.visible(approval.comment)
    return card


def _offer(rule: Remembered) -> dict[str, Any]:
    """A rule that may be remembered, with commands that fit it and commands that do not."""
    fits, others = rule.examples()
    return {
        "digest": rule.digest,
        "text": text.visible(rule.text()),
        "because": [text.visible(reason) for _, reason in rule.asked],
        "fits": [text.visible(line) for line in fits],
        "others": [text.visible(line) for line in others],
    }


def _preview(found: approvals.Preview) -> dict[str, Any]:
    return {
        "key": html.short_id(found.key, "key"),
        "covered": answered.known(found.covered),
        "others": answered.known(found.others),
    }


def editable(action: dict[str, Any]) -> str:
    """An action as text to be changed, hidden characters as escapes; empty where it is too long."""
    written = json.dumps(action, indent=1, ensure_ascii=True, sort_keys=True)
    return written if len(written) <= MAX_EDITED else ""


def hindrance(approval: Approval, user: User) -> str:
    """Why this person cannot answer, and which command helps; empty where they can.

    Only spares them a vain click: the service decides again.
    """
    name = user.get_username()
    mine = name == approval.submitted_by
    if approval.kind == Approval.Kind.QUESTION and mine:
        return ""
    if approval.decision != "ESCALATE":
        if rights.has(user, "decide_approval"):
            return ""
        return f"{rights.lacks(user, 'decide_approval')} {rights.helps(user, 'decide_approval')}"
    if not rights.has(user, "decide_critical"):
        return f"{rights.lacks(user, 'decide_critical')} {rights.helps(user, 'decide_critical')}"
    if mine:
        return (
            "You submitted this run, and an ESCALATE needs four eyes. "
            "`m31a user add NAME --role security` adds a second person."
        )
    return ""


def scopes(approval: Approval) -> list[dict[str, str]]:
    """How far an answer may reach, each with what else it would let through."""
    workspace = approval.run.workspace
    where = workspace.name if workspace else "the workspace"
    same = "exactly this action, with the same arguments in the same folder"
    return [
        {"value": "once", "label": "Once", "preview": "This one time; asked again next time."},
        {
            "value": "task",
            "label": "For the task",
            "preview": f"Also lets through {same}, until this task ends.",
        },
        {
            "value": "run",
            "label": "For the run",
            "preview": f"Also lets through {same}, in every task of this run.",
        },
        {
            "value": "workspace",
            "label": "In the workspace until …",
            "preview": f"Also lets through {same}, in every run on {where} until the end of that day.",
        },
    ]
