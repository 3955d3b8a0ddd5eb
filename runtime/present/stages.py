"""The eleven stages of the gate: what each does, and what each said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from . import badges, html, text

STAGES: tuple[tuple[str, str], ...] = (
    ("intake", "Is the action complete and known? Anything missing or unknown is denied."),
    ("canonicalise", "What exactly is it? Paths, programs and shell text are taken apart."),
    ("boundary", "Does it stay inside the workspace, its write paths and its allowed programs?"),
    ("veto", "Is it one of the things that nobody may lift?"),
    ("admin", "What do the rules of the system and the organisation say?"),
    ("workspace", "What do the rules of the workspace, the user and the run say?"),
    ("role", "May this role, in this kind of task, do such a thing?"),
    ("defaults", "Where no rule spoke: what do the developer defaults say?"),
    ("mode", "What does the run’s mode make of it?"),
    ("grants", "Has a person allowed exactly this before?"),
    ("audit", "Was the verdict recorded before anything runs?"),
)
LAYERS: tuple[tuple[str, str, str], ...] = (
    ("0", "built-in safety", "Lifted by nobody, not even by an approval."),
    ("1–2", "system and organisation", "Rules of whoever runs the house."),
    ("3–5", "workspace, user, run", "Rules of the place and of the task at hand."),
    ("6–7", "role and kind of task", "What a role is for."),
    ("8", "grants", "Answers of people that are remembered: the only thing that lifts."),
    ("9", "developer defaults", "Apply only where no other rule matched."),
)
SILENT = "no objection"
"""What a stage is shown with that said nothing."""
_SILENCE = {"", "pass"}
_WORDS = {"ALLOW", "ASK", "ESCALATE", "DENY"}


def spoken(stages: Iterable[Any]) -> SafeString:
    """The stages that said something as a table, and the names of the others in one line."""
    read = list(enumerate(map(_read, stages), 1))
    silent = [stage[0] for _, stage in read if _is_silent(stage)]
    said = _table([_row(number, *stage) for number, stage in read if not _is_silent(stage)])
    if not silent:
        return said
    rest = format_html(
        '<p class="quiet">{}: {}.</p>', SILENT.capitalize(), text.visible(", ".join(silent))
    )
    return html.join([said, rest])


def _is_silent(stage: tuple[str, str, str, str]) -> bool:
    return stage[1] in _SILENCE and not stage[2]


def table(stages: Iterable[Any]) -> SafeString:
    """The stages of one verdict. Each is `[name, outcome, reason, rule?]` or an object."""
    return _table([_row(number, *_read(stage)) for number, stage in enumerate(stages, 1)])


def _table(rows: list[SafeString]) -> SafeString:
    if not rows:
        return html.EMPTY
    return format_html(
        '<div class="scroll" tabindex="0" role="group" aria-label="Stages of the gate">'
        '<table class="stages"><thead><tr><th scope="col">#</th><th scope="col">stage</th>'
        '<th scope="col">outcome</th><th scope="col">reason</th></tr></thead>'
        "<tbody>{}</tbody></table></div>",
        html.join(rows),
    )


def _read(stage: Any) -> tuple[str, str, str, str]:
    if isinstance(stage, dict):
        return tuple(str(stage.get(n) or "") for n in ("name", "outcome", "reason", "rule"))  # type: ignore[return-value]
    if isinstance(stage, Sequence) and not isinstance(stage, str):
        parts = [str(part or "") for part in stage][:4]
        return tuple(parts + [""] * (4 - len(parts)))  # type: ignore[return-value]
    return str(stage), "", "", ""


def _row(number: int, name: str, outcome: str, reason: str, rule: str) -> SafeString:
    shown = badges.decision(outcome) if outcome in _WORDS else text.visible(outcome or SILENT)
    rule_html = format_html(" <code>{}</code>", text.visible(rule)) if rule else html.EMPTY
    return format_html(
        '<tr><td>{}</td><th scope="row">{}</th><td>{}</td><td>{}{}</td></tr>',
        number,
        text.visible(name),
        shown,
        text.visible(reason),
        rule_html,
    )
