"""Registering a workspace: proven first, then a row and an event of the system's chain."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from runtime import budgets as budget_table
from runtime.core.errors import BadInput, Refused
from runtime.journal.append import now
from runtime.journal.book import open_system
from runtime.journal.kinds import WorkspaceRegistered
from runtime.models import User, Workspace
from runtime.people import rights
from runtime.providers import load
from runtime.workspaces.registry import prepare

MAX_RETRIES = 20


def register_workspace(
    name: str,
    path: str,
    *,
    by: User,
    verify: Sequence[str] = (),
    allow: Sequence[str] = (),
    allow_only: Sequence[str] = (),
    env: Sequence[str] = (),
    retention: str = "redacted",
    sandbox: str = "",
    hosts: Sequence[str] = (),
    limits: Mapping[str, int] | None = None,
    budgets: Mapping[str, int] | None = None,
    provider_retries: int = 0,
    fallback: str = "",
) -> Workspace:
    """Register a directory. `budgets` are the limits of its runs; `provider_retries` how often a
    failed call of a model is made again, `fallback` the model that then takes its place.

    Raises `BadInput` naming the field; nothing is registered then.
    """
    if not rights.has(by, "manage_workspaces"):
        raise Refused(
            f"{by.get_username()} may not register workspaces.",
            remedy="`m31a user add NAME --role admin` gives that right.",
        )
    _check_free(name)
    further = {
        "budgets": _budgets(budgets or {}),
        "provider_retries": _retries(provider_retries),
        "fallback": _fallback(fallback),
    }
    values = prepare(
        name,
        path,
        verify=list(verify),
        allow=list(allow),
        allow_only=list(allow_only),
        env=list(env),
        retention=retention,
        sandbox=sandbox,
        hosts=list(hosts),
        limits=dict(limits or {}),
        etc=settings.M31A.DATA_DIR / "etc",
    )
    _check_apart(values)
    with open_system() as book:
        _check_free(name)
        workspace = Workspace.objects.create(
            **values, **further, created_at=now(), created_by=by.get_username()
        )
        event = WorkspaceRegistered(
            name=workspace.name,
            root=workspace.root,
            is_git=workspace.is_git,
            allowed=sorted(workspace.allowed),
            verify=workspace.verify,
            environments=workspace.environments,
            remotes=workspace.remotes,
            retention=workspace.retention,
            sandbox=workspace.sandbox or None,
            hosts=workspace.hosts,
            limits=workspace.limits,
            budgets=workspace.budgets or None,
            provider_retries=workspace.provider_retries,
            fallback=workspace.fallback or None,
        )
        book.append(event, actor=f"user:{by.get_username()}")
    return workspace


def _budgets(given: Mapping[str, int]) -> dict[str, int]:
    found = budget_table.checked(given)
    if own := sorted(set(budget_table.OWN) & found.keys()):
        raise BadInput(
            f"budget: {own[0]} is given with each run.",
            remedy=f"Use `m31a submit --max-{own[0]}`.",
            field="budget",
        )
    return found


def _retries(count: int) -> int:
    if not 0 <= count <= MAX_RETRIES:
        raise BadInput(
            f"provider_retries: {count} is out of bounds.",
            remedy=f"Use 0 to {MAX_RETRIES}.",
            field="provider_retries",
        )
    return count


def _fallback(spec: str) -> str:
    """A model that could be asked now; a script is none."""
    if spec.startswith("scripted:"):
        raise BadInput(
            "fallback: a script takes nobody's place.",
            remedy="Name a model, such as openai:MODEL.",
            field="fallback",
        )
    if spec:
        try:
            load(spec, env=os.environ)
        except BadInput as error:
            raise BadInput(
                f"fallback: {error.message}", remedy=error.remedy, field="fallback"
            ) from error
    return spec


def _check_free(name: str) -> None:
    if Workspace.objects.filter(name=name).exists():
        raise BadInput(
            f"name: a workspace {name!r} is registered already.",
            remedy="Take another name; `m31a workspace list` shows them.",
            field="name",
        )


def _check_apart(values: Mapping[str, Any]) -> None:
    """Keys, database and the files of other runs are no part of what commands see.

    A repository may hold the data folder: only its commits are copied. The bundled sample may
    lie in it.
    """
    data = os.path.realpath(settings.M31A.DATA_DIR)
    root = os.path.realpath(values["root"])
    inside = _within(root, data) and not _within(root, os.path.join(data, "sample"))
    if inside or (_within(data, root) and not values["is_git"]):
        raise BadInput(
            f"path: {root} holds or lies in the data folder of this server.",
            remedy="Register a directory apart from it.",
            field="path",
        )
    for path in map(os.path.realpath, values["environments"]):
        if (_within(path, data) and not _within(path, root)) or _within(data, path):
            raise BadInput(
                f"env: {path} holds or lies in the data folder of this server.",
                remedy="Name an environment apart from it.",
                field="env",
            )


def _within(path: str, outer: str) -> bool:
    return os.path.commonpath([path, outer]) == outer
