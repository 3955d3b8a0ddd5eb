"""What the journal says of a task, folded. Pure: the same events give the same state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

MAX_TURNS = 400
"""Turns that are remembered for the model; older ones are counted."""

EDITS = frozenset({"replace_text", "write_file", "apply_patch"})

Bulk = str | dict[str, Any]
"""A text, or a reference to it: `{"artifact": SHA-256, "size": bytes}`."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One step as the model saw it: what it said, what it wanted, what came of it."""

    step: int
    said: Bulk = ""
    wanted: Any = None
    result: Bulk = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """An action that was proposed and has not ended."""

    action: str
    kind: str
    step: int
    body: Any
    raw_digest: str | None = None
    started: bool = False
    path: str | None = None
    before: str | None = None
    after: str | None = None
    files: tuple[tuple[str, str, str], ...] = ()
    """Of a patch: each path with its state before and after."""
    approval: str = ""
    answer: str = ""
    """How the approval stands: pending, approved, denied, expired, cancelled, superseded, or
    edited: a person put another action in its place."""
    comment: str = ""
    key: str = ""
    editor: str = ""
    hosts: tuple[str, ...] = ()
    """What its command may reach of the network."""


@dataclass(frozen=True, slots=True)
class JobFact:
    """A background job as the journal tells it. `reason` is "" while no end of it is known; `seen`:
    how many answers there had been when it ended."""

    id: str
    action: str
    program: str
    reason: str = ""
    detail: str = ""
    characters: int = 0
    artifact: str = ""
    seen: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """A task as its events tell it. `steps` counts this generation's answers, `answers` all."""

    objective: str = ""
    mode: str = "assisted"
    task_key: str = "main"
    require_edit: bool = False
    max_steps: int = 100
    verification: tuple[tuple[str, ...], ...] = ()
    base: str = ""
    base_tree: str = ""
    commit: str = ""
    tree: str = ""
    head: str = ""
    steps: int = 0
    answers: int = 0
    refused_in_row: int = 0
    edit_open: bool = False
    verified_tree: str = ""
    left_out: frozenset[str] = frozenset()
    inputs_changed: frozenset[str] = frozenset()
    """Files that the verification runs, and that were changed at some time."""
    pending: Pending | None = None
    said: Bulk = ""
    turns: tuple[Turn, ...] = ()
    dropped_turns: int = 0
    last_failure: Bulk = ""
    expired: tuple[str, ...] = ()
    """The key of each question that nobody answered in time."""
    jobs: tuple[JobFact, ...] = ()
    """Every background job that was started, in order."""
    lost: bool = False
    """Whether a lease was lost, and the worktree has not been restored since."""

    @property
    def debt(self) -> bool:
        """Whether something changed since the operator's verification last passed."""
        if self.edit_open:
            return True
        return self.tree != (self.verified_tree or self.base_tree)

    @property
    def changed(self) -> bool:
        """Whether what would be delivered differs from where the run began."""
        return self.tree != self.base_tree


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
    return replace(state, steps=state.steps + 1, answers=state.answers + 1, said=p.get("text", ""))


def _answer_refused(state: State, p: dict[str, Any], task: str) -> State:
    turn = Turn(p["step"], state.said, None, p["reason"])
    state = _turn(state, turn)
    return replace(state, refused_in_row=state.refused_in_row + 1, last_failure=p["reason"])


def _proposed(state: State, p: dict[str, Any], task: str) -> State:
    pending = Pending(p["action"], p["kind"], p["step"], p["body"], p.get("raw_digest"))
    return replace(state, pending=pending, refused_in_row=0)


def _requested(state: State, p: dict[str, Any], task: str) -> State:
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
        return replace(state, pending=replace(pending, answer=answer, comment=comment))

    return rule


def _expired(state: State, p: dict[str, Any], task: str) -> State:
    state = _answered("expired")(state, p, task)
    pending = state.pending
    if pending is None or pending.approval != p["approval"]:
        return state
    return replace(state, expired=(*state.expired, pending.key))


def _edited(state: State, p: dict[str, Any], task: str) -> State:
    pending = state.pending
    if pending is None or pending.action != p["action"]:
        return state
    pending = replace(
        pending, body=p["body"], raw_digest=None, answer="edited", editor=p["by"], comment=""
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
    state = _end(state, p["observation"], failed=not p["ok"])
    if p["kind"] in EDITS and p["ok"]:
        state = replace(state, edit_open=True)
    return state


def _not_done(state: State, p: dict[str, Any], task: str) -> State:
    return _end(state, p["reason"], failed=True)


def _unknown(state: State, p: dict[str, Any], task: str) -> State:
    """An edit of which nobody knows the outcome may have been done: it opens the debt, too."""
    state = _not_done(state, p, task)
    return replace(state, edit_open=True) if p["kind"] in EDITS else state


def _end(state: State, result: Bulk, *, failed: bool) -> State:
    pending = state.pending
    if pending is None:
        return state
    if pending.editor and isinstance(result, str):
        result = f"[{pending.editor} changed the action; this is about the changed one]\n{result}"
    turn = Turn(pending.step, state.said, pending.body, result)
    state = _turn(replace(state, pending=None, said=""), turn)
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
    return replace(state, steps=0, refused_in_row=0, expired=(), pending=under_way)


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
    "task.lease_expired": _lease_expired,
    "worktree.restored": _restored,
    "task.retried": _retried,
    "job.started": _job_started,
    "job.ended": _job_ended,
}
