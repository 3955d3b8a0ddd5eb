"""What came of a run, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils import timezone

from runtime.core import hints
from runtime.models import Approval
from runtime.policy.guarding import guarded
from runtime.present import report as present
from runtime.present import runs, units
from runtime.present.events.approval import scope

from . import output

Lines = Iterator[str]


def add(commands: Any) -> None:
    """Register the command of this module."""
    report = commands.add_parser("report", help="what came of a run")
    report.add_argument("run")
    report.set_defaults(call=_report)


def _report(call: Any) -> int:
    found = present.gather(call.options.run)
    if call.json:
        output.document(found.facts)
        return 0
    for block in (_head, _changes, _verification, _approvals, _delivery, _artifacts, _used):
        output.text("\n".join(block(found)) + "\n")
    return 0


def _head(found: present.Report) -> Lines:
    run = found.run
    waits = next((one for one in found.approvals if one.state == "pending"), None)
    yield f"{run.pk}  {run.state}"
    yield run.objective
    yield present.plain(runs.sentence(run, found.tasks, waits, timezone.now()))
    if found.summary:
        yield f"The model says: {found.summary}"


def _changes(found: present.Report) -> Lines:
    made = found.delivery
    counted = f", +{made['insertions']} -{made['deletions']}" if made else ""
    yield f"CHANGED: {units.count(len(found.files), 'file') if found.files else 'nothing'}{counted}"
    for letter, path in found.files[: present.MOST]:
        yield f"  {present.CHANGES.get(letter, letter):8}{path}"
    if found.files:
        yield _hint(f"diff {found.run.pk}", "the whole diff")
    for path in found.facts["verification_inputs_changed"][: present.MOST]:
        yield f"  NOTE: the verification runs {path}, which was changed"
    for path in found.facts["guarded_files_changed"][: present.MOST]:
        why = guarded(path) or "guarded"
        yield f"  NOTE: a command changed {path} ({why})"


def _verification(found: present.Report) -> Lines:
    last = found.facts["verification"]
    state = "none" if last is None else "passed" if last["passed"] else "did not pass"
    yield f"VERIFICATION: {state}"
    for one in found.commands:
        took = one.get("duration_ms")
        spent = units.duration(took) if isinstance(took, int) else ""
        yield f"  {present.ended(one)}  {spent:>8}  {present.words(one)}"


def _approvals(found: present.Report) -> Lines:
    yield f"APPROVALS: {len(found.approvals) or 'none was needed'}"
    for one in found.approvals:
        yield f"  {present.plain(present.asked(one))}"
        yield f"    {one.decision} by the rule {one.rule!r}: {_answer(one)}"
        if one.comment:
            yield f"    “{one.comment}”"


def _answer(one: Approval) -> str:
    when = f", {units.exact(one.decided_at)}" if one.decided_at else ""
    who = f" by {one.decided_by}" if one.decided_by else ""
    reach = f" {scope(one.scope)}" if one.state == Approval.State.APPROVED else ""
    return f"{one.state}{reach}{who}{when}"


def _delivery(found: present.Report) -> Lines:
    made = found.delivery
    if made is None:
        yield "DELIVERY: none"
        return
    yield f"DELIVERY: commit {made['commit']} on {made['branch']}"
    yield from (f"  | {line}".rstrip() for line in found.message.strip().split("\n"))
    for does, command in present.taking_over(found):
        yield f"  {does}:"
        yield f"    {command}"


def _artifacts(found: present.Report) -> Lines:
    yield f"ARTIFACTS: {len(found.artifacts) or 'none'}"
    for one in found.artifacts:
        yield f"  {one.sha256[:12]}  {units.size(one.size):>8}  {one.name}"
    if found.artifacts:
        yield _hint(
            "artifact get SHA256", f"one of them; `m31a artifacts {found.run.pk}` lists all"
        )


def _used(found: present.Report) -> Lines:
    yield "USED"
    for name, value in present.used(found, timezone.now()):
        yield f"  {name:13} {value}"


def _hint(command: str, what: str) -> str:
    return f"  {hints.PROGRAM} m31a {command}   ({hints.typed(what)})"
