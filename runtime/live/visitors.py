"""Who sits behind a socket, asked again and again: a socket outlives its session and its rights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.utils.crypto import constant_time_compare

from runtime.models import Run, User

_seats: defaultdict[int, int] = defaultdict(int)


def of_session(key: str | None) -> User | None:
    """The person of a live session, read from the database now; None where there is none.

    Writes nothing: a request, not a socket, may renew or end a session.
    """
    if not key:
        return None
    store = import_module(settings.SESSION_ENGINE).SessionStore(key)
    session = store.load()
    if not str(session.get(SESSION_KEY, "")).isdecimal():
        return None
    user = User.objects.filter(pk=int(session[SESSION_KEY]), is_active=True).first()
    proof = session.get(HASH_SESSION_KEY, "")
    if user is None or not any(constant_time_compare(proof, right) for right in _proofs(user)):
        return None
    return user


def _proofs(user: User) -> Iterator[str]:
    yield user.get_session_auth_hash()
    yield from user.get_session_auth_fallback_hash()


def may_see(user: User, run: str) -> bool:
    """Whether this person may watch this run, by the rights in the database now."""
    return Run.objects.visible_to(user).filter(pk=run).exists()


def still(key: str | None, pk: int, run: str | None) -> tuple[User | None, bool]:
    """The session's person if it is still that one, and whether the run may still be watched."""
    user = of_session(key)
    if user is None or user.pk != pk:
        return None, False
    return user, run is None or may_see(user, run)


def same_place(scope: dict[str, Any]) -> bool:
    """Whether the page that opens the socket is this site's, port included.

    The validator around the routes knows hosts only; on one machine another port is
    another site that gets the same cookies.
    """
    headers = dict(scope.get("headers", []))
    origin = headers.get(b"origin", b"").decode("latin-1").lower()
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    return bool(host) and urlsplit(origin).netloc == host


@contextmanager
def seat(pk: int, most: int) -> Iterator[bool]:
    """Count a person's socket in this process; False where there are too many already."""
    free = _seats[pk] < most
    _seats[pk] += free
    try:
        yield free
    finally:
        _seats[pk] -= free
        if not _seats[pk]:
            del _seats[pk]
