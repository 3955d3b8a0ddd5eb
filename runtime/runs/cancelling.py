"""The end of a run because somebody asked for it."""

from __future__ import annotations

from runtime import approvals
from runtime.core import texts
from runtime.core.errors import Refused
from runtime.journal.book import open_run
from runtime.journal.kinds import RunCancelRequested, TaskCancelled, TaskCancelling
from runtime.journal.retrying import retrying
from runtime.models import Run, Task, User
from runtime.people import rights
from runtime.tasks import moves
from runtime.workflow.states import RUN_TERMINAL, RunState


@retrying
def cancel(run_id: str, by: User, reason: str = "") -> Run:
    """Cancel what has not started, and ask the holders of the rest to stop.

    Open questions fall in the same transaction. Raises `NotFound`, and `Refused` for a run that
    has ended or a person without the right; nothing is written then.
    """
    texts.check(reason, "reason")
    actor = f"user:{by.get_username()}"
    with open_run(run_id, doing="cancel") as book:
        run = book.run
        check_owner(run, by, "cancel")
        if RunState(run.state) in RUN_TERMINAL:
            raise Refused(
                f"The run is {run.state}; it cannot be cancelled.", remedy="Nothing was changed."
            )
        if run.cancel_requested:
            return run
        book.set(cancel_requested=True)
        book.append(RunCancelRequested(reason=reason[:500]), actor=actor)
        rows = list(Task.objects.select_for_update().filter(run=run).order_by("id"))
        approvals.cancel_open(book, "interrupted")
        for task in rows:
            # The end of a task before it may have ended this one, too.
            task.refresh_from_db(fields=["state"])
            if task.state in {"blocked", "ready", "waiting"}:
                moves.move(book, task, "cancelled", TaskCancelled(), actor=actor)
            elif task.state == "running":
                moves.move(book, task, "cancelling", TaskCancelling(), actor=actor)
    return book.run


def check_owner(run: Run, by: User, verb: str) -> None:
    """Raise `Refused` unless the person submitted the run or sees all runs and may submit."""
    if run.pk == "system":
        raise Refused("This chain is no run.")
    mine = run.submitted_by == by.get_username()
    if not mine and not (rights.has(by, "see_all_runs") and rights.has(by, "submit_run")):
        raise Refused(
            f"{by.get_username()} may not {verb} a run of {run.submitted_by}.",
            remedy="Its submitter may, or a submitter who sees all runs.",
        )
