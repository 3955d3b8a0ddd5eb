"""Adding people, and signing them in by single-use links."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.contrib.auth.models import Group
from django.utils import timezone

from runtime.core.errors import BadInput, NotFound
from runtime.journal import book
from runtime.journal.kinds import LinkMade, PersonAdded, PersonSignedIn
from runtime.models import SignInLink, User

from . import rights, sessions

LINK_LIFE = timedelta(minutes=15)
FIRST_ROLES = ("submitter", "reviewer", "security", "admin")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}")


def default_user() -> User:
    """The person that acts where no name is given; made on demand.

    Named after the account that this process runs as. Roles that were taken away later stay away.
    """
    name = _account()
    found = User.objects.filter(username=name).first()
    return found if found is not None else add(name, FIRST_ROLES, by=None)


def _account() -> str:
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "admin"
    return name if _NAME.fullmatch(name) else "admin"


def get(name: str) -> User:
    """The active person of this name. Raises `NotFound`."""
    found = User.objects.filter(username=name, is_active=True).first()
    if found is None:
        raise NotFound(
            f"There is no person {name!r}.",
            remedy=f"`m31a user add {name} --role submitter` adds them.",
        )
    return found


def add(name: str, roles: Sequence[str], by: User | None) -> User:
    """Add a person with these roles; one who exists already gets the roles that are missing.

    `by` is None for the runtime itself. Raises `BadInput` on a bad name, and on an unknown,
    missing or doubled role; then nothing was written.
    """
    _check(name, roles)
    book.ensure_system()
    with book.open_system() as system:
        user = User.objects.filter(username=name).first()
        if user is None:
            user = User(username=name)
            user.set_unusable_password()
            user.save(force_insert=True)
        elif not user.is_active:
            raise BadInput(f"{name} was made inactive.", remedy="Take another name.", field="name")
        held = set(user.groups.values_list("name", flat=True))
        new = [role for role in roles if role not in held]
        if new or not held:
            user.groups.add(*_groups(new))
            actor = f"user:{by.get_username()}" if by is not None else "runtime"
            system.append(PersonAdded(name=name, roles=new), actor=actor)
    return User.objects.get(pk=user.pk)


def _check(name: str, roles: Sequence[str]) -> None:
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} cannot be a person's name.",
            remedy="Use up to 64 letters, digits and the signs _ . @ + -, not starting with a sign.",
            field="name",
        )
    if not roles:
        raise BadInput(
            "A person needs a role.", remedy=f"Roles are {', '.join(rights.ROLES)}.", field="role"
        )
    unknown = [role for role in roles if role not in rights.ROLES]
    if unknown:
        raise BadInput(
            f"There is no role {unknown[0]!r}.",
            remedy=f"Roles are {', '.join(rights.ROLES)}.",
            field="role",
        )
    if len(set(roles)) != len(roles):
        raise BadInput("A role is named twice.", remedy="Name each role once.", field="role")


def _groups(roles: Sequence[str]) -> list[Group]:
    found = {group.name: group for group in Group.objects.filter(name__in=roles)}
    if len(found) != len(roles):
        rights.install()
        found = {group.name: group for group in Group.objects.filter(name__in=roles)}
    return [found[role] for role in roles]


def make_link(user: User, base_url: str) -> str:
    """A one-time address by which a person signs in, valid for fifteen minutes.

    Only the hash of its secret is stored. Links that ran out are cleared away.
    """
    secret = secrets.token_urlsafe(32)
    now = timezone.now()
    book.ensure_system()
    with book.open_system() as system:
        SignInLink.objects.filter(expires_at__lt=now).delete()
        SignInLink.objects.create(digest=_digest(secret), user=user, expires_at=now + LINK_LIFE)
        system.append(LinkMade(name=user.get_username()), actor="runtime")
    return f"{base_url.rstrip('/')}/login/?link={secret}"


def redeem(secret: str, now: datetime | None = None) -> User | None:
    """The person of a link, once; None where it is unknown, used, or older than fifteen minutes.
    Either is journaled. The conditional update decides between two browsers with the same link.
    """
    at = now or timezone.now()
    digest = _digest(secret)
    with book.open_system() as system:
        link = SignInLink.objects.filter(digest=digest, used_at=None, expires_at__gt=at)
        good = link.update(used_at=at) == 1
        owner = User.objects.filter(signinlink__digest=digest).first()
        if good and owner is not None and owner.is_active:
            name = owner.get_username()
            system.append(PersonSignedIn(name=name, by="link"), actor=f"user:{name}")
            return owner
        sessions.refuse(system, owner, "link")
    return None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
