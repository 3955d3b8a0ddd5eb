"""Commands about people."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from runtime.core.errors import Refused
from runtime.models import User
from runtime.people import rights, service
from runtime.worker import folder

from . import output


def add(commands: Any) -> None:
    """Register the commands of this module."""
    user = commands.add_parser("user", help="add people and make sign-in links")
    which = user.add_subparsers(required=True, metavar="add|link")
    new = which.add_parser("add", help="add a person, or a role to one")
    new.add_argument("name")
    new.add_argument("--role", action="append", default=[], required=True)
    new.set_defaults(call=_add)
    link = which.add_parser("link", help="a single-use sign-in link, good for 15 minutes")
    link.add_argument("name")
    link.set_defaults(call=_link)


def _add(call: Any) -> int:
    _check_right(call.user)
    return _say(call, service.add(call.options.name, call.options.role, by=call.user))


def _link(call: Any) -> int:
    _check_right(call.user)
    return _say(call, service.get(call.options.name))


def _check_right(user: User) -> None:
    if not rights.has(user, "manage_people"):
        raise Refused(
            f"{user.get_username()} may not add people or make links for them.",
            remedy="Somebody with the role admin may.",
        )


def _say(call: Any, person: User) -> int:
    link = service.make_link(person, base_url())
    roles = sorted(person.groups.values_list("name", flat=True))
    if call.json:
        output.document({"name": person.get_username(), "roles": roles, "link": link})
    else:
        output.text(f"{person.get_username()}: {', '.join(roles)}\n{link}")
    return 0


def base_url() -> str:
    """Where the site is served: by whoever serves this data folder, else by the settings."""
    if served := folder.served_at(settings.M31A.DATA_DIR):
        return served
    scheme = "https" if settings.M31A.HTTPS else "http"
    return f"{scheme}://{settings.M31A.HOST}:{settings.M31A.PORT}"
