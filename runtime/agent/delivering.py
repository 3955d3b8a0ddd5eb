"""From an accepted `finish` to the delivery: proven again in a fresh copy, then committed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from runtime import artifacts, faults
from runtime.artifacts import ArtifactFact
from runtime.core import canonical
from runtime.core.actions import Finish
from runtime.core.errors import Refused
from runtime.journal.kind import Payload
from runtime.journal.kinds import (
    DeliveryCompleted,
    FinishRefused,
    VerificationFailed,
    VerificationPassed,
)
from runtime.models import Approval
from runtime.sandbox import Cage
from runtime.secrets import redactor

from . import guarded
from .inputs import delivered
from .preparing import OPEN_DEBT, refuse_finish
from .publishing import TRAILER, branch, commit_tree
from .session import Session
from .state import Pending
from .trees import take_if_touched
from .verifying import Evidence, run_all

MAX_TITLE = 72
"""Characters of a commit's first line, by git's own custom."""


@dataclass
class Delivery:
    """What a finish came to: a refusal, or the events of the delivery."""

    refusal: str = ""
    debt: bool = False
    events: list[Payload] = field(default_factory=list)
    kept: list[ArtifactFact] = field(default_factory=list)
    stopped: bool = False
    """The worker's own end cut it short: the next holder does it again from the start."""


def deliver(session: Session, pending: Pending, action: Finish) -> Delivery:
    """1. The tree must be the verified one. 2. A fresh copy of exactly that tree must pass.
    3. Commit with trailers, patch and report; a person takes it from there."""
    try:
        session.space.check_nested()
        moved = take_if_touched(session, pending.action)
    except Refused as error:
        return Delivery(str(error), debt=True)
    if moved is not None:
        return Delivery(
            OPEN_DEBT,
            debt=True,
            events=[moved],
        )
    if refusal := refuse_finish(session.state):
        return Delivery(*refusal)
    if not session.state.changed:
        return Delivery()
    try:
        evidence = _prove(session, pending)
    except Refused as error:
        return Delivery(f"A fresh copy of the tree cannot be made: {error}", debt=True)
    if evidence.stopped:
        return Delivery(stopped=True)
    if evidence.reason:
        failed = VerificationFailed(
            action=pending.action,
            tree=session.state.tree,
            commands=evidence.commands,
            reason=f"In a fresh copy: {evidence.reason}",
            spent=evidence.spent,
        )
        return Delivery(
            f"The verification failed in a fresh copy of the tree: {evidence.reason}\n"
            f"{evidence.text}"[:3000],
            debt=True,
            events=[failed],
            kept=evidence.outputs,
        )
    return _commit(session, pending, action, evidence)


def _prove(session: Session, pending: Pending) -> Evidence:
    """The verification in a worktree that holds exactly what is delivered."""
    fresh = session.space.fresh(session.state.tree, session.claim.fence)
    try:
        with Cage(fresh.spec()) as cage:
            fresh.populate(cage, session.state.tree)
            with closing(session.walls.beside(fresh, lambda: cage)) as walls:
                return run_all(session, walls.cage(), pending.action)
    finally:
        fresh.remove()


def _commit(session: Session, pending: Pending, action: Finish, evidence: Evidence) -> Delivery:
    state, space = session.state, session.space
    commit = commit_tree(session, _message(session, action))
    faults.hit("deliver.after_commit_object")
    patch = space.diff(state.base_tree, state.tree, binary=True)
    files, insertions, deletions = space.numstat(state.base_tree, state.tree)
    kept_patch = artifacts.keep(patch.encode("utf-8", "surrogateescape"), "delivery.patch", "patch")
    report = redactor().value(_report(session, action, evidence, commit))
    kept_report = artifacts.keep(canonical.encode(report), "report.json", "report")
    events: list[Payload] = [
        VerificationPassed(
            action=pending.action,
            tree=state.tree,
            commands=evidence.commands,
            spent=evidence.spent,
        ),
        DeliveryCompleted(
            commit=commit,
            branch=branch(session),
            tree=state.tree,
            patch=kept_patch.sha256,
            report=kept_report.sha256,
            files=files,
            insertions=insertions,
            deletions=deletions,
        ),
    ]
    return Delivery(events=events, kept=[*evidence.outputs, kept_patch, kept_report])


def _message(session: Session, action: Finish) -> str:
    """The commit's message, with trailers that lead back to the record."""
    title = " ".join(session.run.objective.split())
    if len(title) > MAX_TITLE:
        title = f"{title[: MAX_TITLE - 1].rstrip()}…"
    approved = Approval.objects.filter(run=session.run, state="approved")
    approvers = sorted({str(name) for name in approved.values_list("decided_by", flat=True)})
    trailers = [
        f"M31A-Run: {session.run.pk}",
        f"M31A-Tree: {session.state.tree}",
        f"Submitted-by: {session.run.submitted_by}",
        *[f"Approved-by: {name}" for name in approvers],
        *[f"Verified-by: {' '.join(command)}" for command in session.state.verification],
    ]
    summary = TRAILER.sub("> ", action.summary)
    return f"{title}\n\n{summary}\n\n" + "\n".join(" ".join(line.split()) for line in trailers)


def _report(session: Session, action: Finish, evidence: Evidence, commit: str) -> dict[str, Any]:
    state = session.state
    return {
        "run": session.run.pk,
        "objective": session.run.objective,
        "summary": action.summary,
        "base": state.base,
        "commit": commit,
        "tree": state.tree,
        "files": [
            list(change) for change in session.space.changed_files(state.base_tree, state.tree)
        ],
        "verification": evidence.commands,
        "steps": state.answers,
        "left_out": sorted(state.left_out),
        "verification_inputs_changed": delivered(session),
        "guarded_files_changed": guarded.delivered(session, state.tree),
        "event_seq_before": session.run.event_seq,
    }


def refused(pending: Pending, delivery: Delivery) -> FinishRefused:
    """The event of a refused finish."""
    return FinishRefused(
        action=pending.action,
        kind=pending.kind,
        reason=delivery.refusal,
        debt=delivery.debt,
        artifacts=[fact.payload() for fact in delivery.kept],
    )
