"""What came of a run, for a person: gathered once, shown on the page and by the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from html import unescape
from pathlib import Path
from typing import Any

from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from dulwich.objects import ObjectID

from runtime import artifacts, budgets, runs
from runtime.core import canonical, hints
from runtime.core.errors import NotFound
from runtime.models import Approval, Artifact, Run, Task
from runtime.runs.reading import space_of, trees
from runtime.secrets import redactor
from runtime.workspaces.space import RunSpace

from . import actions, badges, cards, diffs, html, tables, text, units
from . import runs as present
from .events.approval import scope

MOST = 200
"""Approvals and artifacts that are listed; the tabs and the command line have all."""
CHANGES = {"A": "added", "M": "changed", "D": "removed"}


@dataclass(frozen=True)
class Report:
    """The facts. `message` is the delivered commit's, `files` are (A, M or D, path)."""

    run: Run
    facts: Mapping[str, Any]
    tasks: list[Task]
    approvals: list[Approval]
    artifacts: list[Artifact]
    files: list[tuple[str, str]]
    message: str
    folder: Path | None

    @property
    def delivery(self) -> Mapping[str, Any] | None:
        """The delivered commit; None where nothing was delivered."""
        found: Mapping[str, Any] | None = self.facts["delivery"]
        return found

    @property
    def commands(self) -> list[Mapping[str, Any]]:
        """The commands of the last verification."""
        verification = self.facts["verification"] or {}
        return [one for one in verification.get("commands") or () if isinstance(one, dict)]

    @property
    def summary(self) -> str:
        """What the model says that it did."""
        return str((self.facts["report"] or {}).get("summary") or "")


def gather(run_id: str) -> Report:
    """Everything that is known. Raises `NotFound` where there is no such run."""
    facts = runs.report(run_id)
    run = Run.objects.select_related("workspace").get(pk=run_id)
    folder, files, message = None, [], ""
    try:
        space = space_of(run)
    except NotFound:
        pass  # the files are gone by retention; the record still tells
    else:
        folder = space.repository.path
        files = space.changed_files(*trees(run))
        if facts["delivery"]:
            message = _message(space, facts["delivery"]["commit"])
    delivered = (facts["report"] or {}).get("files")
    return Report(
        run=run,
        facts=facts,
        tasks=list(Task.objects.filter(run=run).order_by("id")),
        approvals=list(Approval.objects.filter(run=run).order_by("id")[:MOST]),
        artifacts=list(artifacts.for_run(run.pk)[:MOST]),
        files=[(str(letter), str(path)) for letter, path in delivered or files],
        message=message,
        folder=folder,
    )


def _message(space: RunSpace, commit: str) -> str:
    """The message of the delivered commit with its trailers; empty where the object is gone."""
    try:
        found = space.repository.objects.store[ObjectID(commit.encode())]
    except KeyError:
        return ""
    return redactor().text(getattr(found, "message", b"").decode("utf-8", "replace"))


def taking_over(report: Report) -> list[tuple[str, str]]:
    """How a person gets the delivery into the checkout: what each command does, and the command.

    The run has a git directory of its own; nothing was written to the checkout.
    """
    made, place = report.delivery, report.run.workspace
    if made is None or place is None:
        return []
    root = shlex.quote(place.root)
    get = f"{hints.PROGRAM} m31a artifact get {made['patch']} | git -C {root} apply"
    found = [("Take only the changes, without a commit", get)]
    if report.folder is not None and place.is_git:
        fetch = f"git -C {root} fetch {shlex.quote(str(report.folder))} {made['branch']}"
        found = [
            ("Look at the commit first", f"{fetch} && git -C {root} show --stat -p FETCH_HEAD"),
            ("Take the commit over", f"{fetch} && git -C {root} merge FETCH_HEAD"),
            *found,
        ]
    return found


def asked(approval: Approval) -> SafeString:
    """What a question was about: the action in words."""
    card = canonical.decode(approval.card)
    action = card.get("action") if isinstance(card, dict) else None
    return actions.sentence(approval.action_kind, action if isinstance(action, dict) else None)


def plain(fragment: str) -> str:
    """A fragment of a page as text for a terminal."""
    return unescape(strip_tags(fragment))


def used(report: Report, now: datetime) -> list[tuple[str, str]]:
    """Cost, steps and time."""
    run = report.run
    attempts = max((task.attempt for task in report.tasks), default=0)
    return [
        ("time", units.span((run.ended_at or now) - run.created_at)),
        ("steps", f"{run.steps:,} of at most {run.max_steps:,}"),
        ("attempts", f"{attempts} of at most {run.max_attempts}"),
        ("tokens", f"{run.input_tokens:,} in, {run.output_tokens:,} out"),
        ("cost", _cost(report)),
        ("submitted by", f"{text.plain(run.submitted_by)}, {units.exact(run.created_at)}"),
        ("model", text.plain(run.provider)),
        ("mode", run.mode),
        ("workspace", text.plain(str(report.facts["workspace"]))),
        ("started from", str(report.facts["base"])[:10]),
    ]


def _cost(report: Report) -> str:
    found = next(one for one in budgets.lines(report.run, report.tasks) if one.name == "cost")
    guessed = f", {budgets.shown('cost', found.estimated)} of it estimated"
    return found.text() + (guessed if found.estimated else "")


def view(report: Report, now: datetime) -> dict[str, Any]:
    """The report as the page's template shows it."""
    run, made = report.run, report.delivery
    waits = next((one for one in report.approvals if one.state == Approval.State.PENDING), None)
    return {
        "badge": badges.state(run.state),
        "sentence": present.sentence(run, report.tasks, waits, now),
        "summary": html.prose(report.summary),
        "used": html.facts((name, text.visible(value)) for name, value in used(report, now)),
        "delivery": _delivery(report) if made else None,
        "files": [
            {"word": CHANGES.get(letter, letter), "path": text.visible(path),
             "anchor": diffs.anchor(path)}
            for letter, path in report.files[:MOST]
        ],
        "more_files": max(0, len(report.files) - MOST),
        "left_out": [
            text.visible(str(path)) for path in (report.facts["report"] or {}).get("left_out", ())
        ],
        "inputs": cards.named(report.facts["verification_inputs_changed"]),
        "guarded": cards.named(report.facts["guarded_files_changed"]),
        "verification": _verification(report),
        "approvals": [_approval(one, now) for one in report.approvals],
        "artifacts": tables.artifacts(report.artifacts),
    }  # fmt: skip


def _delivery(report: Report) -> dict[str, Any]:
    made = report.delivery or {}
    return {
        "commit": html.code(str(made["commit"])),
        "branch": html.code(str(made["branch"]), 120),
        "plus": made["insertions"],
        "minus": made["deletions"],
        "message": text.visible(report.message.strip()),
        "commands": [
            {"does": does, "command": text.plain(command)} for does, command in taking_over(report)
        ],
    }


def _verification(report: Report) -> dict[str, Any] | None:
    found = report.facts["verification"]
    if found is None:
        return None
    return {
        "badge": badges.fit(bool(found["passed"])),
        "seq": found["seq"],
        "tree": html.code(str(found.get("tree") or "")[:10]),
        "reason": text.visible(str(found.get("reason") or "")),
        "commands": [_command(one, report.run.pk) for one in report.commands],
    }


def _command(one: Mapping[str, Any], run: str) -> dict[str, Any]:
    output, took = one.get("output"), one.get("duration_ms")
    return {
        "command": html.code(words(one), 400),
        "ok": one.get("status") == 0,
        "ended": ended(one),
        "took": units.duration(took) if isinstance(took, int) else "",
        "output": f"/artifacts/{output}/?run={run}&view=1" if html.is_digest(output) else "",
        "size": units.size(int(one.get("output_size") or 0)),
    }


def words(command: Mapping[str, Any]) -> str:
    """A command as one would type it."""
    argv = command.get("argv")
    return shlex.join(str(word) for word in argv) if isinstance(argv, list) else str(argv or "")


def ended(command: Mapping[str, Any]) -> str:
    """How a command ended."""
    if command.get("timed_out"):
        return "timed out"
    if command.get("signal"):
        return f"signal {command['signal']}"
    status = command.get("status")
    return "was not executed" if status is None else f"exit {status}"


def _approval(one: Approval, now: datetime) -> dict[str, Any]:
    return {
        "url": f"/approvals/{one.pk}/",
        "sentence": asked(one),
        "decision": badges.decision(one.decision),
        "state": badges.state(one.state),
        "who": text.visible(one.decided_by or "–"),
        "when": units.ago(one.decided_at, now) if one.decided_at else "–",
        "exact": units.exact(one.decided_at) if one.decided_at else "",
        "reach": scope(one.scope) if one.state == Approval.State.APPROVED else "",
        "rule": html.code(one.rule, 80) if one.rule else html.EMPTY,
        "comment": text.visible(one.comment),
    }
