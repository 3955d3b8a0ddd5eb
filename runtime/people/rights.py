"""Roles, and the permissions that each one gives. Pages and services ask for permissions only."""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType

from runtime.core.errors import Refused
from runtime.models import User

_GIVES: dict[str, tuple[str, ...]] = {
    "submitter": ("submit_run",),
    "reviewer": ("see_all_runs", "decide_approval"),
    "security": ("see_all_runs", "decide_critical", "edit_policy", "read_audit"),
    "auditor": ("see_all_runs", "read_audit"),
    "admin": ("see_all_runs", "manage_people", "manage_workspaces"),
}
ROLES: tuple[str, ...] = tuple(_GIVES)
"""Every role. An admin runs the house; that alone gives no right to approve."""


def install() -> None:
    """Make the roles as groups with exactly their permissions. Safe to call after every migration."""
    content_type = ContentType.objects.get_for_model(User)
    names = dict(User._meta.permissions)
    for role, codenames in _GIVES.items():
        rights = [
            Permission.objects.get_or_create(
                content_type=content_type, codename=codename, defaults={"name": names[codename]}
            )[0]
            for codename in codenames
        ]
        group, _ = Group.objects.get_or_create(name=role)
        if set(group.permissions.values_list("pk", flat=True)) != {right.pk for right in rights}:
            group.permissions.set(rights)


def roles_with(codename: str) -> tuple[str, ...]:
    """The roles that give a permission, named without its application (`decide_approval`)."""
    return tuple(role for role, codenames in _GIVES.items() if codename in codenames)


def has(user: User, codename: str) -> bool:
    """Whether a role gives a person the permission, see `User.gets`."""
    return user.gets(codename)


def in_role(user: User, role: str) -> bool:
    """Whether an active person has a role, as the database says now."""
    return User.objects.filter(pk=user.pk, is_active=True, groups__name=role).exists()


def holders(codename: str, role: str = "") -> list[str]:
    """Names of the active people to whom a role (any, or this one) gives a permission."""
    groups = Group.objects.filter(
        permissions__codename=codename, permissions__content_type__app_label="runtime"
    )
    if role:
        groups = groups.filter(name=role)
    people = User.objects.filter(is_active=True, groups__in=groups).order_by("username")
    return list(people.values_list("username", flat=True).distinct())


def need(user: User, codename: str) -> None:
    """Raise `Refused`, naming the role that helps, unless the person has a permission."""
    if not has(user, codename):
        raise Refused(lacks(user, codename), remedy=helps(user, codename))


def lacks(user: User, codename: str) -> str:
    """What a person may not do, as a sentence."""
    what = dict(User._meta.permissions)[codename]
    what = what[:1].lower() + what[1:]
    return f"{user.get_username()} lacks the right “{what}”."


def helps(user: User, codename: str) -> str:
    """Which command gives it."""
    roles = " or ".join(roles_with(codename))
    first = roles_with(codename)[0]
    name = user.get_username()
    return f"The role {roles} has it; an admin gives it with `m31a user add {name} --role {first}`."
