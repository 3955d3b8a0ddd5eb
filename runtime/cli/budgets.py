"""Commands about what a run may use."""

from __future__ import annotations

from typing import Any

from runtime import budgets, runs
from runtime.runs.reading import get

from . import output


def add(commands: Any) -> None:
    """Register the command of this module."""
    budget = commands.add_parser("budget", help="what a run has used and may use; grants more")
    budget.add_argument("run")
    budget.add_argument("--add", action="append", default=[], metavar="NAME=VALUE")
    budget.add_argument("--comment", default="", help="for the record")
    budget.set_defaults(call=_budget)


def _budget(call: Any) -> int:
    options = call.options
    run = get(options.run)
    if options.add:
        run = runs.grant_budget(run.pk, budgets.parse(options.add), call.user, options.comment)
    found = budgets.lines(run)
    if call.json:
        output.document({"run": run.pk, "budgets": [document(line) for line in found]})
        return 0
    output.table(
        [
            line.name,
            f"{line.percent} %",
            line.text(),
            f"about {budgets.shown(line.name, line.estimated)} of it estimated"
            if line.estimated
            else "",
        ]
        for line in found
    )
    return 0


def document(line: budgets.Line) -> dict[str, Any]:
    """A budget as the command line gives it: whole numbers in the budget's own unit."""
    return {
        "name": line.name,
        "used": line.used,
        "limit": line.limit,
        "reserved": line.reserved,
        "estimated": line.estimated,
    }
