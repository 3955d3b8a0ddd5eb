"""What the journal says of a task, folded. Pure: the same events give the same state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from runtime.core import likeness

from .loops import NO_LOOPS, Step
from .values import EDITS, MAX_TURNS, Bulk, JobFact, Pending, State, Turn, budget_of

__all__ = ["EDITS", "MAX_TURNS", "Bulk", "JobFact", "Pending", "State", "Turn", "apply", "fold"]


def fold(task: str, events: Iterable[tuple[str, str | None, dict[str, Any]]]) -> State:
    """The state after events, each given as type, task and payload."""
    state = State()
    for type_, owner, payload in events:
        if owner is None or owner == task:
            state = apply(state, type_, payload, task)
    return state


def apply(state: State, type_: str, payload: dict[str, Any], task: str = "") -> State:
    """The state after one more event. Types that say nothing about the agent change nothing."""
    rule = _RULES.get(type_)
    return state if rule is None else rule(state, payload, task)


def _submitted(state: State, p: dict[str, Any], task: str) -> State:
    mine = next((t for t in p["tasks"] if t["task"] == task), p["tasks"][0])
    verification = p["verification"]
    if isinstance(verification, dict):
        raise TypeError("the payload of run.submitted must be whole before it is folded")
    return replace(
        state,
        objective=p["objective"],
        mode=p["mode"],
        task_key=mine["key"],
        require_edit=p["require_edit"],
        max_steps=p["max_steps"],
        verification=tuple(tuple(command) for command in verification),
        base=p["base"],
        base_tree=p["tree"],
        commit=p["base"],
        tree=p["tree"],
        head=p["base"],
    )


def _message(state: State, p: dict[str, Any], task: str) -> State:
    return replace(
        state, steps=state.steps + 1, answers=state.answers + 1, said=p.get("text", ""), tries=0
    )


def _answer_refused(state: State, p: dict[str, Any], task: str) -> State:
    turn = Turn(p["step"], state.said, None, p["reason"])
    state = _turn(state, turn)
    return replace(state, refused_in_row=state.refused_in_row + 1, last_failure=p["reason"])


def _proposed(state: State, p: dict[str, Any], task: str) -> State:
    pending = Pending(
        p["action"],
        p["kind"],
        p["step"],
        p["body"],
        p.get("raw_digest"),
        like=p.get("like") or _like(p["body"]),
    )
    return replace(state, pending=pending, refused_in_row=0)


def _like(value: Any) -> str:
    """What is the same for likes, where the event does not say it: what was moved out is like
    itself."""
    if isinstance(value, str):
        return likeness.of_text(value)
    return likeness.of_action(value)


def _requested(state: State, p: dict[str, Any], task: str) -> State:
    if p["kind"] == "budget":
        asked = Pending(p["action"], "budget", state.answers, p["rule"])
        asked = replace(asked, approval=p["approval"], answer="pending", key=p.get("key", ""))
        return replace(state, pending=asked)
    if state.pending is None or state.pending.action != p["action"]:
        return state
    pending = replace(
        state.pending, approval=p["approval"], answer="pending", started=False, key=p.get("key", "")
    )
    return replace(state, pending=pending)


def _answered(answer: str) -> Any:
    def rule(state: State, p: dict[str, Any], task: str) -> State:
        pending = state.pending
        if pending is None or pending.approval != p["approval"]:
            return state
        comment = p.get("comment") or p.get("reason") or ""
        if pending.kind == "budget" and answer != "denied":
            passed = {budget_of(pending)} if answer == "approved" else set()
            return replace(state, pending=None, passed=state.passed | passed)
        return replace(state, pending=replace(pending, answer=answer, comment=comment))

    return rule


def _expired(state: State, p: dict[str, Any], task: str) -> State:
    pending = state.pending
    state = _answered("expired")(state, p, task)
    if pending is None or pending.approval != p["approval"]:
        return state
    return replace(state, expired=(*state.expired, pending.key))


def _edited(state: State, p: dict[str, Any], task: str) -> State:
    pending = state.pending
    if pending is None or pending.action != p["action"]:
        return state
    pending = replace(
        pending,
        body=p["body"],
        raw_digest=None,
        answer="edited",
        editor=p["by"],
        comment="",
        like=_like(p["body"]),
    )
    return replace(state, pending=pending)


def _started(state: State, p: dict[str, Any], task: str) -> State:
    if state.pending is None:
        return state
    pending = replace(
        state.pending,
        started=True,
        path=p.get("path"),
        before=p.get("before"),
        after=p.get("after"),
        files=tuple((path, before, after) for path, before, after in p.get("files") or ()),
        hosts=tuple(p.get("hosts") or ()),
    )
    return replace(state, pending=pending)


def _completed(state: State, p: dict[str, Any], task: str) -> State:
    state = _end(state, p["observation"], failed=not p["ok"], like=p.get("like"))
    if p["kind"] in EDITS and p["ok"]:
        state = replace(state, edit_open=True)
    return state


def _not_done(state: State, p: dict[str, Any], task: str) -> State:
    return _end(state, p["reason"], failed=True)


def _unknown(state: State, p: dict[str, Any], task: str) -> State:
    """An edit of which nobody knows the outcome may have been done: it opens the debt, too."""
    state = _not_done(state, p, task)
    return replace(state, edit_open=True) if p["kind"] in EDITS else state


def _end(state: State, result: Bulk, *, failed: bool, like: str | None = None) -> State:
    pending = state.pending
    if pending is None:
        return state
    edit = pending.kind in EDITS and not failed
    seen = Step(pending.like, like or _like(result), state.tree, edit)
    waits = any(not job.reason for job in state.jobs)
    loops = state.loops.after(seen, "job_output" if waits else pending.kind)
    if pending.editor and isinstance(result, str):
        result = f"[{pending.editor} changed the action; this is about the changed one]\n{result}"
    turn = Turn(pending.step, state.said, pending.body, result)
    state = _turn(replace(state, pending=None, said="", loops=loops), turn)
    return replace(state, last_failure=result) if failed else state


def _turn(state: State, turn: Turn) -> State:
    turns = (*state.turns, turn)
    dropped = max(0, len(turns) - MAX_TURNS)
    return replace(
        state, turns=turns[dropped:], dropped_turns=state.dropped_turns + dropped, said=""
    )


def _checkpoint(state: State, p: dict[str, Any], task: str) -> State:
    files = p["files"] if isinstance(p["files"], list) else []
    return replace(
        state,
        tree=p["tree"],
        commit=p["commit"],
        head=p.get("head") or state.head,
        left_out=state.left_out - frozenset(files),
    )


def _passed(state: State, p: dict[str, Any], task: str) -> State:
    left_out = p["left_out"] if isinstance(p["left_out"], list) else []
    return replace(
        state,
        edit_open=False,
        verified_tree=p["tree"],
        left_out=state.left_out | frozenset(left_out),
    )


def _failed_verification(state: State, p: dict[str, Any], task: str) -> State:
    left_out = p.get("left_out")
    if not isinstance(left_out, list):
        return state
    return replace(state, left_out=state.left_out | frozenset(left_out))


def _inputs_changed(state: State, p: dict[str, Any], task: str) -> State:
    return replace(state, inputs_changed=state.inputs_changed | frozenset(p["paths"]))


def _guarded_changed(state: State, p: dict[str, Any], task: str) -> State:
    return replace(state, guarded_changed=state.guarded_changed | frozenset(p["paths"]))


def _lease_expired(state: State, p: dict[str, Any], task: str) -> State:
    return replace(state, lost=True)


def _restored(state: State, p: dict[str, Any], task: str) -> State:
    return replace(state, lost=False)


def _job_started(state: State, p: dict[str, Any], task: str) -> State:
    fact = JobFact(p["job"], p["action"], p["program"])
    return replace(state, jobs=(*state.jobs, fact))


def _job_ended(state: State, p: dict[str, Any], task: str) -> State:
    artifacts = p.get("artifacts")
    first = artifacts[0]["sha256"] if isinstance(artifacts, list) and artifacts else ""
    detail = p.get("detail")
    jobs = tuple(
        replace(
            fact,
            reason=p["reason"],
            detail=detail if isinstance(detail, str) else "",
            characters=p.get("characters", 0),
            artifact=first,
            seen=state.answers,
        )
        if fact.id == p["job"]
        else fact
        for fact in state.jobs
    )
    return replace(state, jobs=jobs)


def _retried(state: State, p: dict[str, Any], task: str) -> State:
    """An action that was under way stays: its outcome is still to be found out."""
    under_way = state.pending if state.pending is not None and state.pending.started else None
    return replace(
        state,
        steps=0,
        refused_in_row=0,
        expired=(),
        pending=under_way,
        loops=NO_LOOPS,
        tries=0,
        fallback=False,
    )


def _model_failed(state: State, p: dict[str, Any], task: str) -> State:
    if p["then"] == "fallback":
        return replace(state, tries=0, fallback=True)
    return replace(state, tries=p["attempt"]) if p["then"] in {"retry", "compact"} else state


def _compacted(state: State, p: dict[str, Any], task: str) -> State:
    return replace(
        state,
        shortened=p["shortened"],
        dropped=p["dropped"],
        squeezed=state.squeezed or p["reason"] == "context_length",
    )


def _budget_granted(state: State, p: dict[str, Any], task: str) -> State:
    return replace(state, max_steps=p["limit"]) if p["budget"] == "steps" else state


_RULES: dict[str, Any] = {
    "run.submitted": _submitted,
    "message.completed": _message,
    "answer.refused": _answer_refused,
    "action.proposed": _proposed,
    "approval.requested": _requested,
    "approval.approved": _answered("approved"),
    "approval.denied": _answered("denied"),
    "approval.expired": _expired,
    "approval.cancelled": _answered("cancelled"),
    "approval.superseded": _answered("superseded"),
    "action.edited": _edited,
    "action.started": _started,
    "action.completed": _completed,
    "action.refused": _not_done,
    "action.outcome_unknown": _unknown,
    "finish.refused": _not_done,
    "checkpoint.created": _checkpoint,
    "verification.passed": _passed,
    "verification.failed": _failed_verification,
    "verification.inputs_changed": _inputs_changed,
    "guarded_files.changed": _guarded_changed,
    "task.lease_expired": _lease_expired,
    "worktree.restored": _restored,
    "task.retried": _retried,
    "model.failed": _model_failed,
    "context.compacted": _compacted,
    "budget.granted": _budget_granted,
    "job.started": _job_started,
    "job.ended": _job_ended,
}
