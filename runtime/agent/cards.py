"""The card that a reviewer gets: the whole action and all that the gate knows about it."""

from __future__ import annotations

from typing import Any

from runtime.approvals import Card, Question
from runtime.core import patches
from runtime.core.actions import ApplyPatch, ReplaceText, WriteFile, parse
from runtime.core.errors import Refused
from runtime.core.patch_names import InvalidPatch
from runtime.policy import Decision, Verdict
from runtime.policy.reading import COMMANDS
from runtime.policy.verdict import CHANGES_GUARDED, CHANGES_VERIFICATION
from runtime.sandbox import is_open
from runtime.secrets import redactor
from runtime.workspaces.diffs import MAX_DIFF, of_edit, of_edits
from runtime.workspaces.paths import unwritten

from . import guarded, network
from .jobs import MAX_SECONDS
from .session import Session

MAX_RULE = 160
"""Characters of a rule's name that are kept; a module's name may be part of it."""
MAX_SHOWN = 20
"""Files whose change a card of a delivery shows."""
_VERBS = {
    "run_tool": "run",
    "run_shell": "run a shell script",
    "git_push": "push",
    "git_commit": "commit",
    "replace_text": "edit",
    "write_file": "write",
    "apply_patch": "apply a patch to",
    "start_job": "start in the background",
    "stop_job": "stop the job",
    "finish": "deliver",
}


def question_for(
    session: Session, action_id: str, kind: str, body: dict[str, Any], verdict: Verdict
) -> Question:
    """The gate's question about an action."""
    return Question(
        kind="action",
        action=action_id,
        action_kind=kind,
        decision=str(verdict.decision),
        rule=verdict.rule[:MAX_RULE],
        reason=verdict.reason,
        risk=verdict.risk,
        key=verdict.key,
        digest=verdict.digest,
        card=_card(session, kind, body, verdict),
    )


def ask_human(session: Session, action_id: str, text: str, verdict_key: str) -> Question:
    """The model's own question."""
    return Question(
        kind="question",
        action=action_id,
        action_kind="ask_human",
        decision=str(Decision.ASK),
        rule="ask_human",
        reason="The model asks.",
        risk="low",
        key=verdict_key,
        digest=verdict_key,
        card=Card(
            sentence=f"{session.task.role} asks a question",
            question=text,
            action={"kind": "ask_human", "question": text},
            mode=session.run.mode,
            role=session.task.role,
        ),
    )


def _card(session: Session, kind: str, body: dict[str, Any], verdict: Verdict) -> Card:
    payload = verdict.as_payload()
    watched = _named(verdict, CHANGES_VERIFICATION)
    unseen = _named(verdict, CHANGES_GUARDED)
    shown = redactor().value(body)
    verb = _VERBS.get(kind, kind)
    return Card(
        sentence=f"{session.task.role} wants to {verb} {_what(kind, shown)}".strip(),
        action=shown,
        diff=_diff(session, body, [*unseen, *(watched if kind == "finish" else ())]),
        reason=verdict.reason,
        rule=verdict.rule,
        stages=[
            [stage["name"], stage["outcome"] or "", stage["reason"], stage["rule"]]
            for stage in payload["stages"]
        ],
        risk=verdict.risk,
        effects=list(payload["effects"]),
        sandbox=_sandbox(session, kind, verdict),
        paths=sorted(verdict.operands),
        root=session.workspace.root,
        mode=session.run.mode,
        role=session.task.role,
        tree=session.state.tree,
        verification_inputs=watched,
        guarded_files=unseen,
        offers=[] if shown is not body else [one.as_data() for one in verdict.offers],
    )


def _named(verdict: Verdict, prefix: str) -> list[str]:
    """The files of the effects that begin so."""
    return [one.removeprefix(prefix) for one in verdict.effects if one.startswith(prefix)]


def _what(kind: str, body: dict[str, Any]) -> str:
    """The part of an action that a sentence needs; the card shows the whole."""
    if kind in {"run_tool", "start_job"}:
        return " ".join([body["program"], *body.get("args", [])])
    if kind == "git_push":
        return f"{body.get('ref', 'the run’s branch')} to {body.get('remote', 'origin')}"
    if kind == "apply_patch":
        return _patched(body)
    return str(body.get("path") or body.get("message") or body.get("job") or "")


def _patched(body: dict[str, Any]) -> str:
    """The files of a patch, as far as a sentence can hold them."""
    try:
        paths = [path for change in patches.parse(body["patch"]) for path in change.paths]
    except InvalidPatch:
        return "some files"  # redaction may have taken a part of it
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more


def _diff(session: Session, body: dict[str, Any], watched: list[str]) -> str:
    """What an edit changes; of a delivery or a push what it changes of the watched files."""
    if tree := guarded.handed_over(session, body):
        return _change_of(session, tree, watched)
    action = parse(body)
    try:
        if isinstance(action, ApplyPatch):
            return of_edits(session.editor.plan_patch(action).edits)
        if isinstance(action, (ReplaceText, WriteFile)):
            return of_edit(session.editor.plan(action))
    except Refused as error:
        return f"(this edit cannot be made now: {error})"
    return ""


def _change_of(session: Session, tree: str, paths: list[str]) -> str:
    base, space = session.state.base_tree, session.space
    shown = dict.fromkeys(paths[:MAX_SHOWN])  # one may be watched for two reasons
    text = "".join(space.diff(base, tree, unwritten(path)) for path in shown)
    if len(paths) > MAX_SHOWN:
        text += f"({len(paths) - MAX_SHOWN} more files; the run's page has the whole difference)\n"
    if len(text) > MAX_DIFF:
        cut = len(text) - MAX_DIFF
        text = f"{text[:MAX_DIFF]}\n({cut} more characters; the run's page has them)\n"
    return text


def _sandbox(session: Session, kind: str, verdict: Verdict) -> dict[str, Any]:
    """Where the action runs and what it can reach."""
    if kind in {"git_push", "git_commit"}:
        return {
            "where": "on the server, on the git directory alone",
            "network": "to the recorded remote only" if kind == "git_push" else "none",
            "remotes": dict(session.workspace.remotes),
        }
    spec = session.space.spec()
    limits = spec.limits
    bare = is_open(spec) and kind in COMMANDS
    return {
        "where": "without any walls" if bare else "in the cage",
        "network": network.told(session.workspace, verdict),
        "writes": "/" if bare else session.workspace.root,
        "memory_bytes": limits.memory_bytes,
        "written_bytes": limits.written_bytes,
        "processes": limits.processes,
        "seconds": int(MAX_SECONDS if kind == "start_job" else limits.wall_seconds),
    }
