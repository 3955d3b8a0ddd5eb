"""One answer to one question: the one function through which every door goes.

Decision, event and wake-up are one transaction. Whoever answers never runs the action.
"""

from __future__ import annotations

from runtime.core import canonical, clock, texts
from runtime.core.errors import BadInput, Conflict, NotFound
from runtime.journal import newer
from runtime.journal.append import new_id
from runtime.journal.book import Book, open_run
from runtime.journal.kinds import ApprovalApproved, ApprovalDenied, GrantCreated
from runtime.journal.retrying import retrying
from runtime.models import Approval, Grant, User
from runtime.policy import Remembered
from runtime.secrets import redactor

from .cards import offers
from .expiring import expire, lock, wake
from .scopes import Scope, parse_scope
from .who import check_right

MAX_COMMENT = 4000
VERDICTS = {"approve": "approved", "deny": "denied"}


@retrying
def settle(
    approval_id: str,
    *,
    by: User,
    verdict: str,
    scope: str = "once",
    comment: str = "",
    seen_digest: str | None = None,
    rule: str = "",
) -> Approval:
    """Answer a pending approval. `rule`: the digest of an offered rule, which a wider scope then
    remembers with the exact action.

    1. Lock the run, the task, the approval. 2. A settled one: the same answer of the same person
    is a repetition, any other raises `Conflict` with the outcome. 3. Past its time it expires
    here. 4. The right is read from the database now. 5. What was seen must be what would
    run, of a run that this version knows in full. 6. Answer, grant, event and wake-up.

    Raises `NotFound`, `BadInput`, `Refused` (no right, or `Newer`), `Conflict` (too late, or
    changed).
    """
    wanted = _check_input(verdict, comment)
    comment = redactor().text(comment)
    run_id = Approval.objects.filter(pk=approval_id).values_list("run_id", flat=True).first()
    if run_id is None:
        raise NotFound(
            f"There is no approval {approval_id}.", remedy="`m31a approvals` lists them."
        )
    with open_run(run_id, doing="decide") as book:
        task, approval = lock(approval_id)
        span = parse_scope(scope, book.at)
        if approval.state != Approval.State.PENDING:
            return _repeated(approval, by, wanted)
        if approval.expires_at <= book.at:
            expire(book, task, approval)
        else:
            check_right(approval, by)
            check_seen(approval, seen_digest)
            if wanted == "approved":
                newer.require(run_id)
            offered = _offered(approval, span, rule)
            _answer(book, approval, by, wanted, span, scope, comment, offered)
            wake(book, task, wanted)
    if approval.state == Approval.State.EXPIRED:
        raise Conflict(
            "The approval expired before it was answered.",
            outcome="expired",
            remedy="The model was told; retry the task if the action is still wanted.",
        )
    return approval


def _check_input(verdict: str, comment: str) -> str:
    if verdict not in VERDICTS:
        raise BadInput(f"verdict: {verdict!r} is none.", remedy="Use approve or deny.")
    check_comment(comment)
    return VERDICTS[verdict]


def check_comment(comment: str) -> None:
    """Raise `BadInput` for a comment that cannot be kept, or is too long."""
    texts.check(comment, "comment")
    if len(comment) > MAX_COMMENT:
        raise BadInput(
            f"comment: {len(comment)} characters are over the bound of {MAX_COMMENT}.",
            remedy="Shorten it.",
            field="comment",
        )


def _repeated(approval: Approval, by: User, wanted: str) -> Approval:
    if approval.state == wanted and approval.decided_by == by.get_username():
        return approval
    who = f" by {approval.decided_by}" if approval.decided_by else ""
    raise Conflict(
        f"The approval is already {approval.state}{who}.",
        outcome=approval.state,
        remedy="Nothing was changed.",
    )


def check_seen(approval: Approval, seen: str | None) -> None:
    """Raise `Conflict` where somebody saw another action than the one that would run."""
    if seen is not None and seen != approval.digest:
        raise Conflict(
            "The action is not the one that you saw.",
            outcome=approval.state,
            remedy="Look at the card again.",
        )


def _offered(approval: Approval, span: Scope, rule: str) -> Remembered | None:
    """The rule that was chosen. Raises `BadInput` where the card does not offer it."""
    if not rule:
        return None
    if span.kind == "once":
        raise BadInput(
            "rule: an answer that counts once remembers nothing.",
            remedy="Choose a wider scope, or no rule.",
            field="rule",
        )
    found = next((one for one in offers(approval) if one.digest == rule), None)
    if found is None:
        raise BadInput(
            f"rule: {rule[:80]!r} is none that this question offers.",
            remedy="Look at the card again: it lists them.",
            field="rule",
        )
    return found


def _answer(
    book: Book,
    approval: Approval,
    by: User,
    wanted: str,
    span: Scope,
    scope: str,
    comment: str,
    offered: Remembered | None,
) -> None:
    asks = approval.kind == Approval.Kind.QUESTION and approval.action_kind != "budget"
    if asks and wanted == "approved" and not comment.strip():
        raise BadInput("comment: the answer is empty.", remedy="Write the answer as the comment.")
    if approval.kind == Approval.Kind.QUESTION and span.kind != "once":
        raise BadInput(
            "scope: an answer to a question counts once.", remedy="Use once.", field="scope"
        )
    if wanted == "denied":
        scope = "once"
    actor = f"user:{by.get_username()}"
    approval.state = wanted
    approval.decided_by = by.get_username()
    approval.decided_at = book.at
    approval.comment = comment
    approval.scope = scope
    pending = Approval.objects.filter(pk=approval.pk, state=Approval.State.PENDING)
    changed = pending.update(
        state=wanted,
        decided_by=approval.decided_by,
        decided_at=book.at,
        comment=comment,
        scope=scope,
    )
    if changed != 1:
        raise Conflict("Somebody else was faster.", outcome=approval.state)
    facts = {"approval": approval.pk, "action": approval.action, "kind": approval.action_kind}
    if wanted == "approved":
        event = ApprovalApproved(**facts, scope=scope, comment=comment)
        book.append(event, actor=actor, task=approval.task_id)
        if span.kind != "once":
            _grant(book, approval, span, actor, offered)
    else:
        event_denied = ApprovalDenied(**facts, comment=comment)
        book.append(event_denied, actor=actor, task=approval.task_id)


def _grant(
    book: Book, approval: Approval, span: Scope, actor: str, offered: Remembered | None
) -> None:
    grant = Grant(
        id=new_id(),
        key=approval.key,
        rule=canonical.text(offered.as_data()) if offered else "",
        scope=span.kind,
        subject=span.subject(approval),
        lifts=approval.decision,
        approval=approval,
        granted_by=str(approval.decided_by),
        granted_at=book.at,
        expires_at=span.until,
    )
    grant.save(force_insert=True)
    book.append(
        GrantCreated(
            grant=grant.pk,
            approval=approval.pk,
            key=grant.key,
            scope=grant.scope,
            subject=grant.subject,
            lifts=grant.lifts,
            expires_at=clock.stamp(span.until) if span.until else None,
            rule=offered.as_data() if offered else None,
        ),
        actor=actor,
        task=approval.task_id,
    )
