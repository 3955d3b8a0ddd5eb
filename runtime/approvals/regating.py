"""After a change of the rules: open questions are put before the gate again.

A question whose answer would be the same stays as it is. Where the verdict changed, it is
superseded, and its task goes on and decides anew.
"""

from __future__ import annotations

import logging

from django.db.models.functions import Now

from runtime.core import canonical
from runtime.core.errors import NotFound, Unavailable
from runtime.gating import policies, recorded
from runtime.journal import newer
from runtime.journal.append import now
from runtime.journal.book import open_run
from runtime.journal.kinds import TaskReady
from runtime.models import Approval
from runtime.policy.language import Book
from runtime.tasks import moves

from .expiring import lock, supersede

log = logging.getLogger(__name__)
PAGE = 500
REASON = "the rules changed"


class Regate:
    """One process's memory of which open questions the rules in force still ask.

    It is only a memory: a process that has none looks at all of them once.
    """

    def __init__(self) -> None:
        self._hash = ""
        self._same: set[str] = set()

    def run(self, by: str) -> int:
        """Look at every open question that was not looked at since the rules changed; how many
        were superseded. Raises `PolicyFault` where there are no rules that can be used."""
        book = policies.in_force(by)
        if book.hash != self._hash:
            self._hash, self._same = book.hash, set()
        pending = Approval.objects.filter(newer.readable(), state=Approval.State.PENDING)
        rows = pending.filter(kind=Approval.Kind.ACTION)
        open_now = list(rows.order_by("id").values_list("pk", flat=True)[:PAGE])
        self._same.intersection_update(open_now)
        ended = 0
        for approval_id in open_now:
            if approval_id in self._same:
                continue
            if regate(approval_id, book):
                ended += 1
            else:
                self._same.add(approval_id)
        return ended


def regate(approval_id: str, book: Book) -> bool:
    """Whether a question was superseded, because the rules of `book` decide otherwise."""
    approval = (
        Approval.objects.select_related("run__workspace", "task__run__workspace")
        .filter(pk=approval_id)
        .first()
    )
    if approval is None or approval.state != Approval.State.PENDING or _stands(approval, book):
        return False
    try:
        with open_run(approval.run_id) as chain:
            task, locked = lock(approval_id)
            if locked.state != Approval.State.PENDING:
                return False  # somebody answered meanwhile; the answer is checked when it is used
            supersede(chain, locked, REASON)
            if task.state == "waiting":
                ready = TaskReady(why=REASON)
                moves.move(chain, task, "ready", ready, available_at=Now())
            return True
    except NotFound:
        return False  # the run was removed meanwhile, its approvals with it


def _stands(approval: Approval, book: Book) -> bool:
    """Whether the gate still asks exactly this, judged by the facts that were recorded."""
    try:
        found = recorded.latest(approval.run_id, approval.action)
    except Unavailable:
        log.exception("The facts of approval %s are gone; it is asked again.", approval.pk)
        return False
    if found is None:
        return True  # nothing was decided about it that could change
    tree = canonical.decode(approval.card).get("tree", "")
    verdict = recorded.again(found, approval.task, book, tree=tree, now=now())
    asked = (approval.decision, approval.key, approval.digest)
    return asked == (str(verdict.decision), verdict.key, verdict.digest)
