"""Remembered answers: which ones count, and how they are taken back."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from runtime.core.errors import NotFound, Refused
from runtime.journal.append import now
from runtime.journal.book import open_run
from runtime.journal.kinds import GrantRevoked
from runtime.journal.retrying import retrying
from runtime.models import Grant, Run, User
from runtime.people import rights

_ENDED = ("succeeded", "failed", "cancelled")


def live_grants(user: User) -> QuerySet[Grant]:
    """Remembered answers that still count, of runs that this person may see; newest first."""
    moment = now()
    rows = Grant.objects.filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=moment),
        revoked_at__isnull=True,
        approval__run__in=Run.objects.visible_to(user),
    ).exclude(~Q(scope=Grant.Scope.WORKSPACE), approval__run__state__in=_ENDED)
    return rows.select_related("approval__run__workspace").order_by("-granted_at", "-id")


@retrying
def revoke(grant_id: str, *, by: User) -> Grant:
    """Take a remembered answer back: from here on the gate asks again. Taking back twice is once.

    Its giver may, and whoever may answer. Raises `NotFound`, `Refused`.
    """
    found = Grant.objects.filter(pk=grant_id).values_list("approval__run_id", flat=True).first()
    if found is None:
        raise NotFound(f"There is no grant {grant_id}.", remedy="`m31a grants` lists them.")
    with open_run(found) as book:
        grant = Grant.objects.select_for_update(of=("self",)).get(pk=grant_id)
        _check_right(grant, by)
        if grant.revoked_at is None:
            grant.revoked_at, grant.revoked_by = book.at, by.get_username()
            grant.save(update_fields=["revoked_at", "revoked_by"])
            book.append(GrantRevoked(grant=grant.pk), actor=f"user:{by.get_username()}")
    return grant


def _check_right(grant: Grant, by: User) -> None:
    person = User.objects.get(pk=by.pk)
    mine = person.is_active and person.get_username() == grant.granted_by
    if mine or any(rights.has(person, name) for name in ("decide_approval", "decide_critical")):
        return
    raise Refused(
        f"{person.get_username()} may not revoke a grant.",
        remedy="`m31a user add NAME --role reviewer` names somebody who may.",
    )
