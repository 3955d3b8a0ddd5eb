"""Commands about workspaces."""

from __future__ import annotations

from typing import Any

from runtime import budgets, runs
from runtime.core import hints
from runtime.core.errors import BadInput
from runtime.models import Workspace
from runtime.workspaces.registry import advice

from . import output


def add(commands: Any) -> None:
    """Register the commands of this module."""
    workspace = commands.add_parser("workspace", help="register and list workspaces")
    which = workspace.add_subparsers(required=True, metavar="add|list")
    new = which.add_parser("add", help="register a directory")
    new.add_argument("name")
    new.add_argument("path")
    new.add_argument("--verify", action="append", default=[], metavar="CMD")
    new.add_argument("--allow", action="append", default=[], metavar="PROGRAM")
    new.add_argument("--allow-only", action="append", default=[], metavar="PROGRAM")
    new.add_argument("--env", action="append", default=[], metavar="DIR")
    new.add_argument("--retention", default="redacted")
    new.add_argument("--sandbox", default="", metavar="landlock|none")
    new.add_argument("--limit", action="append", default=[], metavar="NAME=NUMBER")
    new.add_argument("--host", action="append", default=[], metavar="HOST[:PORT]")
    new.add_argument("--budget", action="append", default=[], metavar="NAME=VALUE")
    new.add_argument(
        "--provider-retries", type=int, default=0, metavar="N", help="tries after a failed call"
    )
    new.add_argument("--fallback", default="", metavar="SPEC", help="a model for then")
    new.set_defaults(call=_add)
    which.add_parser("list", help="all of them").set_defaults(call=_list)


def _add(call: Any) -> int:
    options = call.options
    workspace = runs.register_workspace(
        options.name,
        options.path,
        by=call.user,
        verify=options.verify,
        allow=options.allow,
        allow_only=options.allow_only,
        env=options.env,
        retention=options.retention,
        sandbox=options.sandbox,
        hosts=options.host,
        limits=_limits(options.limit),
        budgets=budgets.parse(options.budget),
        provider_retries=options.provider_retries,
        fallback=options.fallback,
    )
    for warning in advice(workspace.root, workspace.is_git, workspace.verify):
        output.note(f"Warning: {warning}")
    if call.json:
        output.document(_document(workspace))
    else:
        output.text(f"Registered {workspace.name}: {workspace.root}")
    return 0


def _limits(texts: list[str]) -> dict[str, int]:
    found = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not number.isdecimal():
            raise BadInput(
                f"limit: {text!r} is none.",
                remedy="Write NAME=NUMBER, in bytes, seconds or numbers: memory_bytes=4294967296.",
                field="limits",
            )
        found[name] = int(number)
    return found


def _list(call: Any) -> int:
    rows = list(Workspace.objects.order_by("name"))
    if call.json:
        output.document([_document(row) for row in rows])
    elif rows:
        output.table([row.name, row.root, f"{len(row.verify)} verification"] for row in rows)
    else:
        output.text(hints.typed("No workspaces yet. `m31a workspace add NAME PATH` registers one."))
    return 0


def _document(workspace: Workspace) -> dict[str, Any]:
    return {
        "name": workspace.name,
        "root": workspace.root,
        "is_git": workspace.is_git,
        "allowed": sorted(workspace.allowed),
        "verify": workspace.verify,
        "environments": workspace.environments,
        "remotes": workspace.remotes,
        "retention": workspace.retention,
        "sandbox": workspace.sandbox,
        "hosts": workspace.hosts,
        "limits": workspace.limits,
        "budgets": workspace.budgets,
        "provider_retries": workspace.provider_retries,
        "fallback": workspace.fallback,
    }
