"""One model answer, from the question to the verdict that is journaled with it."""

from __future__ import annotations

import logging
import time
from typing import Any

from django.conf import settings

from runtime import approvals, faults, tasks
from runtime.core import canonical, digests, likeness
from runtime.core.actions import Action, InvalidAction, parse
from runtime.gating import decide
from runtime.journal.append import new_id, now
from runtime.journal.deltas import DeltaWriter, remove
from runtime.journal.kind import Payload
from runtime.journal.kinds import (
    ActionProposed,
    ActionRefused,
    ActionStarted,
    AnswerRefused,
    ApprovalConsumed,
    MessageCompleted,
    PolicyDecided,
)
from runtime.journal.statements import Change, Plus, Row
from runtime.models import Approval, SealedBytes, Task, User
from runtime.policy import ApprovalFact, Decision, Verdict
from runtime.providers import Answer, ProviderError
from runtime.secrets import redactor, seal

from . import background, failing, inputs, projections, spending
from .cards import MAX_RULE, question_for
from .preparing import prepare_start
from .session import Session
from .state import Pending

log = logging.getLogger(__name__)


def ask_model(session: Session) -> Pending | None:
    """Ask, stream, validate, decide, journal. Returns an action that may run now, if any."""
    message, began = new_id(), time.monotonic()
    try:
        with DeltaWriter(session.run.pk, session.task.pk, message) as writer:
            answer = _listen(session, writer)
    except ProviderError as error:
        failing.settle(session, message, error, time.monotonic() - began)
        return None
    spoke = bool(answer.text)
    pending = _journal(session, message, answer, time.monotonic() - began)
    if spoke:
        remove(session.run.pk, message)
    return pending


def _listen(session: Session, writer: DeltaWriter) -> Answer:
    """Ask the model; what it says streams out, redacted across the borders of its pieces."""
    unsaid = redactor().stream()
    try:
        return session.provider.decide(
            session.prompts.make(session.state),
            ordinal=session.state.answers,
            task_key=session.state.task_key,
            on_text=lambda text: writer.add(unsaid.feed(text)),
            cancel=session.interrupt,
            timeout=session.model_seconds,
            max_bytes=settings.M31A.MODEL_BYTES,
        )
    finally:
        writer.add(unsaid.end())


def _journal(session: Session, message: str, answer: Answer, seconds: float) -> Pending | None:
    step = session.state.answers + 1
    spent = spending.of_answer(session, answer, seconds)
    spoken = MessageCompleted(
        message=message,
        step=step,
        text=answer.text,
        model=answer.model,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        estimated=answer.usage.estimated,
        spent=spent,
        cost_estimated=True if spent.get("estimated_cost") else None,
    )
    action: Action | None = None
    refusal = answer.error or ""
    if not refusal:
        try:
            action = parse(answer.action)
        except InvalidAction as error:
            refusal = str(error)
    if action is None:
        session.append(
            [spoken, AnswerRefused(step=step, reason=refusal)], **_counted(session, answer)
        )
        return None
    return _propose(session, spoken, action, answer)


def _counted(session: Session, answer: Answer) -> dict[str, Any]:
    """The columns that count steps and tokens: the task's own, and the run's, where its other
    tasks count, too."""
    return {
        "task": {"steps": session.state.steps + 1},
        "run": {
            "steps": Plus(1),
            "input_tokens": Plus(answer.usage.input_tokens),
            "output_tokens": Plus(answer.usage.output_tokens),
        },
    }


def _propose(
    session: Session, spoken: MessageCompleted, action: Action, answer: Answer
) -> Pending | None:
    body = action.body()
    with redactor().hiding(body):
        return _judge(session, spoken, action, body, answer)


def _judge(
    session: Session,
    spoken: MessageCompleted,
    action: Action,
    body: dict[str, Any],
    answer: Answer,
) -> Pending | None:
    kind = str(body["kind"])
    action_id = f"{session.task.pk}.{spoken.step}"
    proposed, sealed = _redacted(session, action_id, kind, spoken.step, body)
    verdict = decide(inputs.judged(session, body), body, tree=session.state.tree, now=now())
    decided = _decided(action_id, kind, verdict)
    events: list[Payload] = [spoken, proposed, decided]
    counted = _counted(session, answer)
    row = projections.decision_row(session, decided, 2)
    if verdict.decision in (Decision.ASK, Decision.ESCALATE):
        _ask_person(session, action_id, kind, body, verdict, events, [row, *sealed], counted)
        return None
    if verdict.decision == Decision.DENY:
        refused = ActionRefused(action=action_id, kind=kind, reason=verdict.reason, by=decided.rule)
        session.append([*events, refused], rows=[row], **counted)
        return None
    last = prepare_start(session, action_id, action, verdict)
    starts = isinstance(last, ActionStarted)
    session.append([*events, last], rows=[row, *sealed] if starts else [row], **counted)
    return session.state.pending


def _redacted(
    session: Session, action_id: str, kind: str, step: int, body: dict[str, Any]
) -> tuple[ActionProposed, list[Row]]:
    """The proposal as it may be written, and the sealed raw form where they differ."""
    shown = redactor().value(body)
    like = likeness.of_action(shown)
    if shown is body:
        return ActionProposed(action=action_id, kind=kind, step=step, body=body, like=like), []
    raw = canonical.encode(body)
    digest = digests.sha256(raw)
    proposed = ActionProposed(
        action=action_id, kind=kind, step=step, body=shown, raw_digest=digest, like=like
    )
    values = {
        "run": session.run.pk,
        "action": action_id,
        "digest": digest,
        "sealed": seal(raw),
    }
    return proposed, [Row(SealedBytes, values)]


def _decided(action_id: str, kind: str, verdict: Verdict) -> PolicyDecided:
    """The event of a verdict."""
    given = verdict.as_payload()
    stages = [
        [stage["name"], stage["outcome"] or "", stage["reason"], stage["rule"]]
        for stage in given["stages"]
    ]
    rule = given["rule"][:MAX_RULE]
    return PolicyDecided(action=action_id, kind=kind, **{**given, "rule": rule, "stages": stages})


def _ask_person(
    session: Session,
    action_id: str,
    kind: str,
    body: dict[str, Any],
    verdict: Verdict,
    events: list[Payload],
    rows: list[Row],
    counted: dict[str, Any],
) -> None:
    """Journal, ask and let go of the task in one transaction; its jobs end before."""
    background.end_all(session, "waiting")
    question = question_for(session, action_id, kind, body, verdict)
    with tasks.held(session.claim, doing="suspend") as hold:
        projections.record(hold, events, rows)
        hold.book.set(**counted["run"])
        Task.objects.filter(pk=hold.task.pk).update(**counted["task"])
        approvals.request(hold, question)
    session.absorb(events)


def refuse_pending(session: Session, pending: Pending, reason: str, by: str) -> None:
    """The pending action is not done; the model is told why."""
    session.append([ActionRefused(action=pending.action, kind=pending.kind, reason=reason, by=by)])
    forget_raw(pending)


def forget_raw(pending: Pending) -> None:
    """The sealed form of an action goes when the action ends."""
    if pending.raw_digest is not None:
        SealedBytes.objects.filter(action=pending.action).delete()


def reconsider(session: Session, pending: Pending) -> Pending | None:
    """Decide again with the answer of a person. Returns the action if it may run now."""
    raw = session.raw(pending)
    with redactor().hiding(raw):
        return _judge_again(session, pending, raw)


def _judge_again(session: Session, pending: Pending, raw: dict[str, Any]) -> Pending | None:
    approval = Approval.objects.filter(pk=pending.approval).first() if pending.approval else None
    fact = None
    if approval is not None and approval.state == "approved" and not approval.consumed_fence:
        fact = ApprovalFact(
            id=approval.pk,
            digest=approval.digest,
            decision=Decision(approval.decision),
            by=str(approval.decided_by),
        )
    subject = inputs.judged(session, raw)
    verdict = decide(subject, raw, tree=session.state.tree, now=now(), approval=fact)
    decided = _decided(pending.action, pending.kind, verdict)
    row = projections.decision_row(session, decided, 0)
    if verdict.decision == Decision.DENY:
        refused = ActionRefused(
            action=pending.action, kind=pending.kind, reason=verdict.reason, by=decided.rule
        )
        session.append([decided, refused], rows=[row])
        forget_raw(pending)
        return None
    if verdict.decision != Decision.ALLOW:
        _ask_again(session, pending, raw, verdict, decided, row, approval)
        return None
    return _start_approved(
        session, pending, raw, verdict, decided, row, approval, used=fact is not None
    )


def _ask_again(
    session: Session,
    pending: Pending,
    raw: dict[str, Any],
    verdict: Verdict,
    decided: PolicyDecided,
    row: Row,
    approval: Approval | None,
) -> None:
    """What was approved is not what would run now: the answer is void, and a new one is needed."""
    background.end_all(session, "waiting")
    question = question_for(session, pending.action, pending.kind, raw, verdict)
    with tasks.held(session.claim, doing="suspend") as hold:
        if approval is not None and approval.state == "approved":
            approvals.supersede(hold.book, approval, "what it was given for has changed")
        projections.record(hold, [decided], [row])
        asked = approvals.request(hold, question)
    if pending.answer == "edited" and verdict.decision == Decision.ASK:
        _approve_as_edited(asked, pending.editor)


def _approve_as_edited(asked: Approval, editor: str) -> None:
    """Whoever wrote the action has approved it by that, as far as it is theirs to approve."""
    person = User.objects.filter(username=editor, is_active=True).first()
    if person is None:
        return
    if not approvals.approve_if_theirs(asked, person, "As edited."):
        log.info("The edited action of approval %s waits for somebody else.", asked.pk)


def _start_approved(
    session: Session,
    pending: Pending,
    raw: dict[str, Any],
    verdict: Verdict,
    decided: PolicyDecided,
    row: Row,
    approval: Approval | None,
    *,
    used: bool,
) -> Pending | None:
    events: list[Payload] = [decided]
    changes = []
    if used and approval is not None:
        facts = {"approval": approval.pk, "action": pending.action, "kind": pending.kind}
        events.append(ApprovalConsumed(**facts))
        changes.append(
            Change(
                Approval,
                {"consumed_fence": session.claim.fence},
                {"id": approval.pk, "state": "approved", "consumed_fence": 0},
            )
        )
    last = prepare_start(session, pending.action, parse(raw), verdict)
    session.append([*events, last], rows=[row], changes=changes)
    if changes:
        faults.hit("consume.after_commit")
    if not isinstance(last, ActionStarted):
        forget_raw(pending)
    return session.state.pending
