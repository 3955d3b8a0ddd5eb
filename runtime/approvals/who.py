"""Who may answer a question."""

from __future__ import annotations

from runtime.core.errors import Refused
from runtime.models import SECURITY, Approval, User
from runtime.people import rights


def check_right(approval: Approval, by: User) -> None:
    """ASK: a reviewer. ESCALATE: a member of security who did not submit the run, always."""
    person = User.objects.get(pk=by.pk)
    if approval.decision == "ESCALATE":
        if not (rights.has(person, "decide_critical") and rights.in_role(person, SECURITY)):
            raise Refused(
                f"{person.get_username()} may not answer an ESCALATE.",
                remedy="`m31a user add NAME --role security` names somebody who may.",
            )
        if person.get_username() == approval.submitted_by:
            raise Refused(
                f"{person.get_username()} submitted this run; an ESCALATE needs four eyes.",
                remedy="`m31a user add NAME --role security` adds a second person.",
            )
    elif approval.kind == Approval.Kind.QUESTION:
        mine = person.get_username() == approval.submitted_by
        if not mine and not rights.has(person, "decide_approval"):
            raise Refused(
                f"{person.get_username()} may not answer this question.",
                remedy="The submitter or a reviewer may.",
            )
    elif not rights.has(person, "decide_approval"):
        raise Refused(
            f"{person.get_username()} may not answer an ASK.",
            remedy="`m31a user add NAME --role reviewer` names somebody who may.",
        )


def may_answer(approval: Approval) -> list[str]:
    """Names of the people whom `check_right` lets answer now, in order."""
    if approval.decision == "ESCALATE":
        found = set(rights.holders("decide_critical", SECURITY)) - {approval.submitted_by}
    else:
        found = set(rights.holders("decide_approval"))
        if approval.kind == Approval.Kind.QUESTION:
            found.add(approval.submitted_by)
    return sorted(found)
