"""Who came, who went, and who was not let in: in the chain of what belongs to no run.

Never a password, a link or a name that nobody has. What strangers can cause is bounded.
"""

from __future__ import annotations

from datetime import timedelta

from runtime.core import clock
from runtime.journal import book
from runtime.journal.append import now
from runtime.journal.book import Book
from runtime.journal.kinds import (
    PersonPasswordSet,
    PersonSignedIn,
    PersonSignedOut,
    SignInRefused,
)
from runtime.models import Event, User

MOST_REFUSALS = 30
WINDOW = timedelta(minutes=10)
"""In so much time not more refusals are written down; the next one that is says how many were not."""

_unsaid = 0


def signed_in(user: User) -> None:
    """A person gave the right password. (`service.redeem` journals sign-ins by a link.)"""
    _write(PersonSignedIn(name=user.get_username(), by="password"), user)


def signed_out(user: User) -> None:
    """A person ends a session."""
    _write(PersonSignedOut(name=user.get_username()), user)


def keep_password(user: User) -> None:
    """A person chose a password, which `user` holds already: it is stored together with its event,
    or not at all. Nothing else of them is written."""
    with book.open_system() as system:
        user.save(update_fields=["password"])
        payload = PersonPasswordSet(name=user.get_username())
        system.append(payload, actor=f"user:{user.get_username()}")


def refused(name: str) -> None:
    """Somebody gave this name and a password that is not this person's, or nobody's."""
    with book.open_system() as system:
        refuse(system, User.objects.filter(username=name).first(), "password")


def refuse(system: Book, user: User | None, by: str) -> None:
    """Journal a refusal, unless there are many already."""
    global _unsaid
    rows = Event.objects.filter(type=SignInRefused.type).order_by("-id")
    last = list(rows.values_list("at", flat=True)[:MOST_REFUSALS])
    if len(last) == MOST_REFUSALS and last[-1] > clock.stamp(now() - WINDOW):
        _unsaid += 1
        return
    name = "" if user is None else user.get_username()
    system.append(SignInRefused(name=name, by=by, unsaid=_unsaid), actor="runtime")
    _unsaid = 0


def _write(payload: PersonSignedIn | PersonSignedOut, user: User) -> None:
    with book.open_system() as system:
        system.append(payload, actor=f"user:{user.get_username()}")
