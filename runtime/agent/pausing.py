"""What follows where a budget nears its end, or is at it: a question to a person, or the end."""

from __future__ import annotations

from runtime import approvals, budgets, tasks
from runtime.approvals import Card, Question
from runtime.core import canonical, digests
from runtime.policy import Decision

from . import background
from .machine import MAX_EXPIRED, Fail
from .session import Session
from .spending import secure


def check(session: Session) -> Fail | bool:
    """Whether the next step may be taken. Where a person is asked first, the task is let go.

    Gives how the task ends where a budget is exhausted, or nobody answers.
    """
    verdict = secure(session)
    if verdict.over is not None:
        return _over(verdict.over)
    if verdict.near is None:
        return True
    question = _question(session, verdict.near)
    if session.state.expired.count(question.key) >= MAX_EXPIRED:
        detail = f"{MAX_EXPIRED} times nobody answered the same question in time."
        return Fail("approvals_expired", detail)
    background.end_all(session, "waiting")
    with tasks.held(session.claim, doing="suspend") as hold:
        approvals.request(hold, question)
    return False


def _over(line: budgets.Line) -> Fail:
    if line.name == "steps":
        return Fail("step_limit", f"All {line.limit} steps are used.")
    ahead = ""
    if line.used < line.limit:
        ahead = f", and the next call may use {budgets.shown(line.name, line.reserved)}"
    title = budgets.BUDGETS[line.name].title
    detail = f"{line.name}: {line.text()} of the run's {title} are used{ahead}."
    return Fail("budget_exhausted", detail)


def _question(session: Session, line: budgets.Line) -> Question:
    title = budgets.BUDGETS[line.name].title
    said = (
        f"The run has used {line.percent} % of its {title}: {line.text()}. May it use the rest? "
        "At the limit it ends; more can be granted on the run's page."
    )
    action = {"kind": "budget", "budget": line.name, "used": line.used, "limit": line.limit}
    rule = f"budget:{line.name}:{line.limit}"
    return Question(
        kind="question",
        action=f"{session.task.pk}.b{session.state.answers}",
        action_kind="budget",
        decision=str(Decision.ASK),
        rule=rule,
        reason=f"{line.percent} % of a budget are used.",
        risk="low",
        key=digests.sha256(rule.encode()),
        digest=digests.sha256(canonical.encode(action)),
        card=Card(
            sentence=f"The run nears the end of its {title}",
            question=said,
            action=action,
            mode=session.run.mode,
            role=session.task.role,
        ),
    )
