"""The eleven stages, in order, as a table. Each looks at a case and says what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runtime.core import actions
from runtime.workflow import roles

from . import canonicalise, guarding, hosts, judging, offering, rules
from .case import NOTHING, Case, Finding
from .context import MODES, ApprovalFact
from .decision import Decision
from .reading import CHANGES, Part, Remark, RemarkStage
from .verdict import STAGE_NAMES, Source

Stage = Callable[[Case], Finding]


def intake(case: Case) -> Finding:
    """The action's schema, and on whose behalf it comes."""
    request = case.request
    for name in ("run", "task", "workspace"):
        if not getattr(request, name):
            return _refused(f"{name} missing", f"the request names no {name}")
    for name, known in (("role", roles.ROLES), ("kind", roles.KINDS), ("mode", MODES)):
        if getattr(request, name) not in known:
            return _refused(f"{name} unknown", f"unknown {name}: one of {', '.join(known)}")
    raw = request.action
    try:
        if isinstance(raw, dict) and raw.get("kind") == "network":
            case.subject = hosts.parse(raw)
            return NOTHING
        action = actions.parse(raw)
    except (actions.InvalidAction, hosts.InvalidRequest) as error:
        return _refused("schema", str(error))
    case.subject = action
    return NOTHING


def _refused(rule: str, reason: str) -> Finding:
    return Finding(Decision.DENY, rule, reason, "rule")


def canonical(case: Case) -> Finding:
    """Read the action; what cannot be read as plain words is never allowed by itself."""
    if case.subject is None:
        return NOTHING
    case.reading = canonicalise.read(case.subject, case.context, case.lens)
    return _worst(list(_remarks(case.parts, "canonicalise")), "rule")


def boundary(case: Case) -> Finding:
    """Inside the worktree, inside the write paths, with an allowed program."""
    found = list(_remarks(case.parts, "boundary"))
    for part in case.parts:
        for place in part.places:
            remark = judging.boundary(part, place, case.context)
            if remark is not None:
                found.append(remark)
    return _worst(found, "rule")


def veto(case: Case) -> Finding:
    """Built-in safety."""
    found = list(_remarks(case.parts, "veto"))
    for part in case.parts:
        for place in part.places:
            remark = judging.veto(part, place, case.context)
            if remark is not None:
                found.append(remark)
    return _worst(found, "rule")


def admin(case: Case) -> Finding:
    """Rules of the system and the organisation."""
    return _ruled(case, range(1, 3))


def workspace(case: Case) -> Finding:
    """Rules of the workspace, the user and the run."""
    return _ruled(case, range(3, 6))


def role(case: Case) -> Finding:
    """What the role and the kind of task may do, then their rules."""
    needed = frozenset[roles.Capability]().union(*(_needs(part) for part in case.parts))
    missing = roles.lacking(case.request.role, case.request.kind, needed)
    if missing:
        names = ", ".join(sorted(missing))
        reason = f"{case.request.role} on {case.request.kind} may not: {names}"
        return Finding(Decision.DENY, "capability", reason, "rule")
    return _ruled(case, range(6, 8))


def _needs(part: Part) -> frozenset[roles.Capability]:
    needed = {roles.Capability(part.capability)}
    if any(place.inside and place.touch.verb in CHANGES for place in part.places):
        needed.add(roles.Capability.EDIT)
    return frozenset(needed)


def defaults(case: Case) -> Finding:
    """Developer defaults, for the parts about which no rule has spoken."""
    parts = [part for index, part in enumerate(case.parts) if index not in case.silenced]
    if not parts:
        return NOTHING
    found = [remark for part in parts for remark in judging.default_remarks(part)]
    if not found:
        return Finding(Decision.ALLOW, "default", "ordinary engineering work", "default")
    return _worst(found, "default")


def mode(case: Case) -> Finding:
    """How much the run may do by itself."""
    name = case.request.mode
    if name == "plan" and case.mutation:
        return Finding(Decision.DENY, "mode plan", "a planning run changes nothing", "mode")
    if name == "safe" and case.mutation:
        return Finding(Decision.ASK, "mode safe", "in a safe run every change is asked for", "mode")
    if name in ("autonomous", "unattended") and _contained(case):
        reason = "its effects stay in the worktree, without network"
        return Finding(Decision.ALLOW, f"mode {name}", reason, "mode", frozenset({"defaults"}))
    return NOTHING


_LEAVES = frozenset({"guided file", "secret"})
"""What the defaults ask about files that others obey, or that hold what others trust: a change of
them acts far from the worktree."""


def _contained(case: Case) -> bool:
    """Whether the defaults ask, and only about effects that stay in the worktree."""
    asked = case.findings.get("defaults")
    return (
        asked is not None
        and asked.outcome is Decision.ASK
        and all(
            part.contained and not any(one.rule in _LEAVES for one in remarks)
            for index, part in enumerate(case.parts)
            if index not in case.silenced and (remarks := judging.default_remarks(part))
        )
    )


def grants(case: Case) -> Finding:
    """A person's answer lifts a question; in plan and unattended runs nobody will give one."""
    standing = case.standing()
    if standing in (Decision.ALLOW, Decision.DENY):
        return NOTHING
    lifted = frozenset(name for name, _ in case.counted())
    approval = case.context.approval
    if approval is not None and _answers(approval, case, standing):
        reason = f"approved by {approval.by} ({approval.id})"
        return Finding(Decision.ALLOW, approval.id, reason, "person", lifted)
    key = case.key()
    for grant in case.context.grants:
        if grant.key == key and standing <= grant.decision_max:
            reason = f"granted by {grant.by} for the {grant.scope} ({grant.id})"
            return Finding(Decision.ALLOW, grant.id, reason, "grant", lifted)
    for grant in case.context.grants:
        if grant.rule is not None and offering.covers(grant.rule, case):
            reason = f"granted by {grant.by} for the {grant.scope}: {grant.rule.text()}"
            return Finding(Decision.ALLOW, grant.id, reason, "grant", lifted)
    if case.request.mode in ("plan", "unattended"):
        asked = case.decisive()[1].reason
        reason = f"nobody answers questions in a run of mode {case.request.mode}: {asked}"
        return Finding(Decision.DENY, f"mode {case.request.mode}", reason, "mode")
    return NOTHING


def _answers(approval: ApprovalFact, case: Case, standing: Decision) -> bool:
    """Whether an approval is for exactly this content, and its giver may lift that much."""
    return standing <= approval.decision and approval.digest == case.digest()


def audit(case: Case) -> Finding:
    """The verdict is journaled before anything runs, else nothing runs."""
    if case.context.audit is None:
        return Finding(Decision.DENY, "no audit", "nobody journals this verdict", "rule")
    return Finding(None, "", case.context.audit)


STAGES: tuple[tuple[str, Stage], ...] = tuple(
    zip(
        STAGE_NAMES,
        (intake, canonical, boundary, veto, admin, workspace, role, defaults, mode, grants, audit),
        strict=True,
    )
)


_WHOLE = "git shows files here that no word names: name their paths, behind -- in a command"


def _ruled(case: Case, numbers: range) -> Finding:
    request = case.request
    around = rules.Circumstances(request.role, request.kind, request.mode, case.context.moment)
    found: list[tuple[Remark, int]] = []
    for index, part in enumerate(case.parts):
        for owner, rule in rules.match(case.context.layers, numbers, part, around):
            case.silenced.add(index)
            reason = rule.reason or f"rule {rule.id} of {owner.name}"
            if rule.path and any(place.touch.whole for place in part.places):
                reason = f"{reason}; {_WHOLE}"
            found.append((Remark("defaults", rule.decision, rule.id, reason), owner.number))
    found += _unseen(case, numbers, around)
    if not found:
        return NOTHING
    remark, layer = max(found, key=lambda one: one[0].decision.rank)
    return Finding(remark.decision, remark.rule, remark.reason, "rule", layer=layer)


def _unseen(case: Case, numbers: range, around: rules.Circumstances) -> list[tuple[Remark, int]]:
    """What rules say of files that a command has changed without naming them, where these go out; of
    a commit only what they deny."""
    context = case.context
    hands_over = any(part.hands_over for part in case.parts)
    paths = context.changed_guarded if hands_over else ()
    if not hands_over and any(part.commits for part in case.parts):
        paths = context.changed_committed
    found = []
    for path in paths if context.path_rules else ():
        where = (case.lens.root, path)
        for owner, rule in guarding.ruled(context.layers, numbers, around, where):
            if hands_over or rule.decision is Decision.DENY:
                why = f" ({rule.reason})" if rule.reason else ""
                reason = (
                    f"{path} was changed, about which rule {rule.id} of {owner.name} speaks{why}"
                )
                reason += ": put it back" if rule.decision is Decision.DENY else ""
                found.append((Remark("defaults", rule.decision, rule.id, reason), owner.number))
    return found


def _remarks(parts: Iterable[Part], stage: RemarkStage) -> Iterable[Remark]:
    return (remark for part in parts for remark in part.remarks if remark.stage == stage)


def _worst(found: list[Remark], source: Source) -> Finding:
    """The worst remark; the others are named behind it."""
    if not found:
        return NOTHING
    remark = max(found, key=lambda one: one.decision.rank)
    also = dict.fromkeys(one.reason for one in found if one.reason != remark.reason)
    reason = "; ".join([remark.reason, *list(also)[:3]])
    return Finding(remark.decision, remark.rule, reason, source)
