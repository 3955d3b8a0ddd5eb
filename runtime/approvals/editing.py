"""Changing what was asked about: the changed action goes before the whole gate again."""

from __future__ import annotations

from typing import Any

from runtime.core import canonical
from runtime.core.actions import Action, InvalidAction, parse
from runtime.core.errors import BadInput, Conflict, NotFound, Refused
from runtime.journal import newer
from runtime.journal.book import open_run
from runtime.journal.kinds import ActionEdited
from runtime.journal.retrying import retrying
from runtime.models import Approval, SealedBytes, User
from runtime.secrets import redactor

from .cards import card
from .deciding import check_seen
from .expiring import expire, lock, supersede, wake
from .who import check_right


@retrying
def edit(approval_id: str, *, by: User, action: object, seen_digest: str | None = None) -> Approval:
    """Put another action of the same kind in the place of the one that is asked about.

    The question is superseded, both actions stay in the journal, and the worker puts the new one
    before the gate. If that asks no more than an ASK, the editor's word is its approval.

    Raises `NotFound`, `BadInput` (`action`), `Refused`, `Conflict` (too late, or changed).
    """
    edited = _parsed(action)
    run_id = Approval.objects.filter(pk=approval_id).values_list("run_id", flat=True).first()
    if run_id is None:
        raise NotFound(
            f"There is no approval {approval_id}.", remedy="`m31a approvals` lists them."
        )
    with open_run(run_id) as book:
        task, approval = lock(approval_id)
        if approval.state == Approval.State.PENDING and approval.expires_at <= book.at:
            expire(book, task, approval)
        elif approval.state == Approval.State.PENDING:
            check_right(approval, by)
            check_seen(approval, seen_digest)
            newer.require(run_id)
            body = _checked(approval, edited)
            supersede(book, approval, f"{by.get_username()} changed the action")
            event = ActionEdited(
                approval=approval.pk,
                action=approval.action,
                kind=approval.action_kind,
                by=by.get_username(),
                body=body,
            )
            book.append(event, actor=f"user:{by.get_username()}", task=approval.task_id)
            wake(book, task, "edited")
            return approval
    raise Conflict(
        f"The approval is already {approval.state}.",
        outcome=approval.state,
        remedy="Nothing was changed.",
    )


def _parsed(action: object) -> Action:
    try:
        return parse(action)
    except InvalidAction as error:
        raise BadInput(f"action: {error}", remedy="Mend it.", field="action") from error


def _checked(approval: Approval, edited: Action) -> dict[str, Any]:
    """The body of an edited action, if it may stand in for the one that was asked about."""
    if approval.kind == Approval.Kind.QUESTION:
        raise BadInput("A question is answered, not changed.", field="action")
    body = dict(edited.body())
    if body["kind"] != approval.action_kind:
        raise BadInput(
            f"action: its kind is {body['kind']!r}, and {approval.action_kind!r} was asked about.",
            remedy="Deny it with a comment, and the model proposes something else.",
            field="action",
        )
    if SealedBytes.objects.filter(action=approval.action).exists():
        raise Refused(
            "Parts of this action are hidden, so what you see is not the whole of it.",
            remedy="Deny it with a comment.",
        )
    if redactor().value(body) != body:
        raise BadInput(
            "action: it holds what looks like a secret.",
            remedy="Leave it out; what is written here is journaled.",
            field="action",
        )
    if canonical.encode(body) == canonical.encode(card(approval).get("action", {})):
        raise BadInput(
            "action: nothing was changed.", remedy="Approve it as it is.", field="action"
        )
    return body
