"""What is known before an allowed action starts: whether it can, and what an edit will change."""

from __future__ import annotations

from runtime.core.actions import (
    Action,
    ApplyPatch,
    ReplaceText,
    RunTool,
    StartJob,
    WriteFile,
)
from runtime.core.errors import Refused
from runtime.journal.kind import Payload
from runtime.journal.kinds import ActionCompleted, ActionRefused, ActionStarted, FinishRefused
from runtime.policy import Verdict

from . import network
from .session import Session
from .state import State

OPEN_DEBT = (
    "Verification debt: something changed since the last verification passed; run verify first."
)


def prepare_start(session: Session, action_id: str, action: Action, verdict: Verdict) -> Payload:
    """`action.started`, or why it does not start: a refusal, or an edit that cannot be made."""
    kind = str(action.body()["kind"])
    if kind == "finish" and (refusal := refuse_finish(session.state)):
        reason, debt = refusal
        return FinishRefused(action=action_id, kind=kind, reason=reason, debt=debt)
    if kind == "verify" and not session.state.verification:
        reason = "No verification command is configured for this workspace."
        return ActionRefused(action=action_id, kind=kind, reason=reason, by="runtime")
    if kind == "ask_human" and session.state.mode == "unattended":
        reason = "Nobody answers questions in an unattended run."
        return ActionRefused(action=action_id, kind=kind, reason=reason, by="mode unattended")
    if isinstance(action, (ReplaceText, WriteFile)):
        return _start_edit(session, action_id, kind, action)
    if isinstance(action, ApplyPatch):
        return _start_patch(session, action_id, kind, action)
    program = action.program if isinstance(action, (RunTool, StartJob)) else None
    hosts = list(network.reachable(session.workspace, verdict)) if verdict.connects else []
    return ActionStarted(action=action_id, kind=kind, program=program, hosts=hosts or None)


def _start_edit(
    session: Session, action_id: str, kind: str, action: ReplaceText | WriteFile
) -> Payload:
    try:
        edit = session.editor.plan(action)
    except Refused as error:
        return ActionCompleted(action=action_id, kind=kind, ok=False, observation=str(error))
    return ActionStarted(
        action=action_id,
        kind=kind,
        path=edit.path,
        before=edit.before_sha,
        after=edit.after_sha,
    )


def _start_patch(session: Session, action_id: str, kind: str, action: ApplyPatch) -> Payload:
    try:
        planned = session.editor.plan_patch(action)
    except Refused as error:
        return ActionCompleted(action=action_id, kind=kind, ok=False, observation=str(error))
    files = [[edit.path, edit.state_before, edit.state_after] for edit in planned.edits]
    return ActionStarted(action=action_id, kind=kind, files=files)


def refuse_finish(state: State) -> tuple[str, bool] | None:
    """Why the task cannot be finished now, and whether that is a verification debt."""
    if state.require_edit and not state.changed:
        return "This run needs a change, and nothing has changed yet.", False
    if state.debt and not state.verification:
        return (
            "Verification debt: something changed, and no verification is configured, so it cannot "
            "be proven. The operator must configure a verification command.",
            True,
        )
    if state.debt:
        return OPEN_DEBT, True
    return None
