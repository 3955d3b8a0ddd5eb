"""Asking: the question, the event and the waiting task are one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from runtime.core import canonical, clock
from runtime.journal.append import new_id
from runtime.journal.kinds import ApprovalRequested, TaskWaiting
from runtime.models import Approval
from runtime.secrets import redactor
from runtime.tasks import Hold
from runtime.workflow import reminders

from .cards import Card


@dataclass(frozen=True)
class Question:
    """What is asked. `kind` is `action` for the gate's question, `question` for the model's."""

    kind: str
    action: str
    action_kind: str
    decision: str
    rule: str
    reason: str
    risk: str
    key: str
    digest: str
    card: Card


def request(hold: Hold, question: Question) -> Approval:
    """Ask a person and let the worker go: the task waits from here on."""
    book = hold.book
    card = redactor().value(dict(question.card))
    expires_at = book.at + timedelta(hours=settings.M31A.APPROVAL_HOURS)
    approval = Approval(
        id=new_id(),
        run=book.run,
        task=hold.task,
        kind=question.kind,
        action=question.action,
        action_kind=question.action_kind,
        decision=question.decision,
        rule=question.rule,
        risk=question.risk,
        key=question.key,
        digest=question.digest,
        card=canonical.text(card),
        submitted_by=book.run.submitted_by,
        requested_at=book.at,
        expires_at=expires_at,
        remind_at=reminders.following(book.at, expires_at, 0),
    )
    approval.save(force_insert=True)
    hold.append(
        ApprovalRequested(
            approval=approval.pk,
            action=question.action,
            kind=question.action_kind,
            decision=question.decision,
            rule=question.rule,
            reason=question.reason,
            risk=question.risk,
            key=question.key,
            digest=question.digest,
            expires_at=clock.stamp(approval.expires_at),
            card=card,
        )
    )
    hold.move("waiting", TaskWaiting(approval=approval.pk), fresh_attempt=False)
    return approval
