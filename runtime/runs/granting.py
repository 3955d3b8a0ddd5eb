"""More of a budget for a run, given by a person."""

from __future__ import annotations

from collections.abc import Mapping

from runtime import approvals, budgets
from runtime.core import amounts
from runtime.core.errors import BadInput, Refused
from runtime.journal import newer
from runtime.journal.book import Book, open_run
from runtime.journal.kinds import BudgetGranted
from runtime.models import Approval, Run, User
from runtime.people import rights
from runtime.secrets import redactor

_OVER = ("succeeded", "cancelled")


def grant_budget(run_id: str, more: Mapping[str, int], by: User, comment: str = "") -> Run:
    """Let a run use so much more of each budget. An open question about one of them is answered by
    that. A failed run may get more before it is retried.

    Raises `NotFound`, `BadInput`, and `Refused` where a right is missing, the run has ended for
    good or a newer version recorded it; nothing is written then.
    """
    if not more:
        raise BadInput("budget: nothing is given.", remedy="Give NAME=VALUE.", field="budget")
    approvals.check_comment(comment)
    given = budgets.checked(more)
    with open_run(run_id) as book:
        run = book.run
        _check_right(run, by)
        newer.require(run_id)
        if run.state in _OVER:
            raise Refused(f"The run is {run.state}; it uses nothing any more.")
        for name, amount in given.items():
            _grant(book, name, amount, by, redactor().text(comment))
    _answer(run, given, by)
    return run


def _check_right(run: Run, by: User) -> None:
    if not Run.objects.visible_to(by).filter(pk=run.pk).exists():
        raise Refused("This run is not yours to see.")
    if not rights.has(by, "decide_approval"):
        raise Refused(
            f"{by.get_username()} may not grant more.",
            remedy="`m31a user add NAME --role reviewer` names somebody who may.",
        )


def _grant(book: Book, name: str, amount: int, by: User, comment: str) -> None:
    run = book.run
    given = amounts.read(run.budgets)
    limit = budgets.limits(given, run.max_steps, run.max_attempts)[name] + amount
    budgets.checked({name: limit})
    event = BudgetGranted(budget=name, more=amount, limit=limit, comment=comment)
    book.append(event, actor=f"user:{by.get_username()}")
    if name in budgets.OWN:
        book.set(**{f"max_{name}": limit})
    else:
        book.set(budgets=amounts.written({**given, name: limit}))


def _answer(run: Run, given: Mapping[str, int], by: User) -> None:
    """Whoever grants more has answered the question whether the rest may be used."""
    asked = Approval.objects.filter(
        run=run.pk, state=Approval.State.PENDING, action_kind="budget"
    ).order_by("id")
    for approval in list(asked):
        if approval.rule.split(":")[1] not in given:
            continue
        approvals.approve_if_theirs(approval, by, "More was granted.")
