"""Is this machine fit?"""

from __future__ import annotations

from typing import Any

from runtime.core import hints

from . import output


def add(commands: Any) -> None:
    """Register the command of this module."""
    commands.add_parser("doctor", help="is this machine fit to execute runs?").set_defaults(
        call=_doctor
    )


def _doctor(call: Any) -> int:
    from runtime.worker import doctor

    rows = [
        row._replace(detail=hints.typed(row.detail), remedy=hints.typed(row.remedy))
        for row in doctor.table(ask_models=True)
    ]
    bad = [row for row in rows if row.required and not row.ok]
    if call.json:
        output.document(
            {
                "ok": not bad,
                "checks": [{**row._asdict(), "level": row.level} for row in rows],
            }
        )
        return 1 if bad else 0
    output.table([row.level, row.name, row.detail] for row in rows)
    for row in rows:
        if not row.ok and row.remedy:
            output.note(f"{row.level} {row.name}: {row.remedy}")
    if bad:
        output.note("Runs cannot be executed here until each FAULT is mended.")
    return 1 if bad else 0
