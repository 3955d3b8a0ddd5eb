"""Answers as people give them: one, several at once, or one that reaches further."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runtime.core.errors import BadInput, Conflict, M31AError, NotFound, Refused
from runtime.models import Approval, User

from .cards import offers
from .deciding import settle

MAX_BATCH = 100
MAX_COVERED = 200
"""Open questions that one wider answer settles at once; what is left the grant allows later."""


def decide(
    approval_id: str,
    *,
    by: User,
    verdict: str,
    scope: str = "once",
    comment: str = "",
    seen_digest: str | None = None,
    rule: str = "",
) -> Approval:
    """Answer a question, see `settle`. A wider scope counts at once for other open questions
    about the same action, as far as this person may answer them."""
    approval = settle(
        approval_id,
        by=by,
        verdict=verdict,
        scope=scope,
        comment=comment,
        seen_digest=seen_digest,
        rule=rule,
    )
    if approval.state == Approval.State.APPROVED and approval.scope != "once":
        _cover(approval, by, rule)
    return approval


def _cover(given: Approval, by: User, rule: str) -> None:
    same = Approval.objects.filter(state=Approval.State.PENDING, kind=Approval.Kind.ACTION).exclude(
        pk=given.pk
    )
    scope = given.scope.partition(":")[0]
    if scope == "workspace":
        same = same.filter(run__workspace=given.run.workspace_id)
    else:
        same = same.filter(task=given.task_id) if scope == "task" else same.filter(run=given.run_id)
    if given.decision != "ESCALATE":
        same = same.exclude(decision="ESCALATE")
    if not rule:
        same = same.filter(key=given.key)
    for other in list(same.order_by("requested_at", "id")[:MAX_COVERED]):
        if other.key != given.key and not any(one.digest == rule for one in offers(other)):
            continue
        approve_if_theirs(other, by, f"Covered by the answer to {given.pk}.")


def approve_if_theirs(asked: Approval, by: User, comment: str) -> bool:
    """What a person did elsewhere answers this question, too: say yes once, in their name. Whether
    it counts: not where it is not theirs to answer, or was settled meanwhile."""
    try:
        settle(asked.pk, by=by, verdict="approve", comment=comment, seen_digest=asked.digest)
    except (Refused, Conflict, NotFound):
        return False
    return True


class Answered(NamedTuple):
    """What came of one answer of several. `error` is empty where it counts."""

    approval: str
    state: str
    error: str = ""


def decide_many(
    chosen: Sequence[tuple[str, str]], *, by: User, verdict: str, comment: str = ""
) -> list[Answered]:
    """Answer several questions once each, in the order given: pairs of id and the digest that was
    seen. Each is a transaction of its own; one that fails keeps no other from its answer.

    Raises `BadInput` where there is none, or more than `MAX_BATCH`.
    """
    if not chosen:
        raise BadInput("Nothing is chosen.", remedy="Choose the questions first.")
    if len(chosen) > MAX_BATCH:
        raise BadInput(
            f"{len(chosen)} questions are over the bound of {MAX_BATCH} at once.",
            remedy="Choose fewer.",
        )
    results = []
    for identifier, digest in dict(chosen).items():
        try:
            done = decide(identifier, by=by, verdict=verdict, comment=comment, seen_digest=digest)
        except Conflict as error:
            results.append(Answered(identifier, error.outcome or "", str(error)))
        except M31AError as error:
            results.append(Answered(identifier, "", str(error)))
        else:
            results.append(Answered(identifier, done.state))
    return results
