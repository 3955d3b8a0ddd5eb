"""The gate itself: eleven stages, one verdict. Pure; what it knows comes from the context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from runtime.core import clock
from runtime.core.actions import Action, Finish

from . import hashing, offering
from .case import NOTHING, Case, Finding
from .context import Context, Request
from .decision import Decision
from .patterns import covers
from .places import Lens
from .reading import CHANGES, COMMANDS, Verb
from .stages import STAGES, Stage
from .verdict import (
    CHANGES_GUARDED,
    CHANGES_VERIFICATION,
    COMMITS_GUARDED,
    Risk,
    Source,
    StageResult,
    Verdict,
)

_SOME = 8
"""Fewer than half of the effects that a record keeps."""


def gate(
    request: Request, context: Context, stages: tuple[tuple[str, Stage], ...] = STAGES
) -> Verdict:
    """The verdict on one proposal. Never raises; a stage that fails denies, and says so.

    `stages` is the table of `runtime.policy.stages`; only tests give another one.
    """
    found: dict[str, str | None] = {}

    def which(name: str) -> str | None:
        if name not in found:
            found[name] = context.which(name)
        return found[name]

    lens = Lens.of(context)
    case = Case(request, replace(context, which=which), lens)
    failed = ""
    for name, stage in stages:
        case.findings[name] = NOTHING if failed else _run(case, name, stage)
        if case.findings[name].source == "error" or (
            name == "intake" and case.findings[name].outcome is Decision.DENY
        ):
            failed = name
    if case.reading is None and not failed:
        case.findings["canonicalise"] = Finding(
            Decision.DENY, "stage_error", "the action was not read", "error"
        )
    return _verdict(case, failed, found)


def _run(case: Case, name: str, stage: Stage) -> Finding:
    try:
        return stage(case)
    except Exception as error:  # noqa: BLE001 (whatever fails here must end in a refusal)
        reason = f"stage {name} failed ({type(error).__name__}); this is no denial by policy"
        return Finding(Decision.DENY, "stage_error", reason, "error")


def _verdict(case: Case, failed: str, found: Mapping[str, str | None]) -> Verdict:
    name, decisive = case.decisive()
    decision = case.standing()
    if decision is Decision.ALLOW:
        decisive = _permitting(case) or decisive
    return Verdict(
        decision=decision,
        rule=decisive.rule or name,
        source=decisive.source,
        reason=decisive.reason,
        stages=tuple(_result(case, stage, failed) for stage in case.findings),
        action=case.subject if isinstance(case.subject, Action) else None,
        key=case.key(),
        digest=case.digest(),
        operands=case.operands(),
        mutation=case.mutation,
        risk=_risk(case, decision),
        effects=_effects(case),
        facts=case.lens.facts,
        programs=tuple(found.items()),
        moment=clock.stamp(case.context.moment) if case.context.moment else "",
        policy_hash=hashing.policy_hash(case.context),
        offers=offering.offers(case) if decision is Decision.ASK and not failed else (),
        network=bool(_talking(case)),
        hosts=_hosts(case),
        connects=decision is Decision.ALLOW and _connects(case, decisive.source),
    )


def _talking(case: Case) -> list[int]:
    """The commands of the cage, by their place, that need the network; a push is the server's."""
    parts = case.reading.parts if case.reading is not None else ()
    return [
        index
        for index, part in enumerate(parts)
        if part.network and part.tool in COMMANDS and part.capability != "push"
    ]


def _hosts(case: Case) -> tuple[str, ...]:
    """What they name; a file that such a command reads or writes is no host. A remembered rule
    covers none that was not on its card (`remembered.fits`)."""
    found: dict[str, None] = {}
    for index in _talking(case):
        part = case.parts[index]
        files = {place.touch.path for place in part.places}
        found.update(dict.fromkeys(host for host in part.hosts if host not in files))
    return tuple(found)


def _connects(case: Case, source: Source) -> bool:
    talking = _talking(case)
    if source in ("person", "grant"):
        return bool(talking)
    return bool(talking) and all(index in case.silenced for index in talking)


def _permitting(case: Case) -> Finding | None:
    """Of several reasons to allow, the one that a person would name."""
    for source in ("person", "grant", "mode", "rule"):
        for finding in case.findings.values():
            if finding.source == source and finding.outcome is Decision.ALLOW:
                return finding
    return None


def _result(case: Case, name: str, failed: str) -> StageResult:
    finding = case.findings[name]
    names = list(case.findings)
    if failed and names.index(name) > names.index(failed):
        return StageResult(name, None, f"not reached: {failed} ended it", "")
    return StageResult(name, finding.outcome, finding.reason, finding.rule)


def _risk(case: Case, decision: Decision) -> Risk:
    if case.reading is None or decision >= Decision.ESCALATE:
        return "high"
    parts = case.reading.parts
    deletes = any(
        place.touch.verb is Verb.DELETE and (place.touch.deep or place.touch.pattern)
        for part in parts
        for place in part.places
    )
    if deletes or any(part.network for part in parts):
        return "high"
    asked = any(finding.outcome is Decision.ASK for finding in case.findings.values())
    return "medium" if asked or decision is Decision.ASK else "low"


def _effects(case: Case) -> tuple[str, ...]:
    """What would happen, in a few words each."""
    if case.reading is None:
        return ()
    inputs: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    if isinstance(case.subject, Finish):
        inputs = tuple(f"{CHANGES_VERIFICATION}{path}" for path in case.context.changed_inputs)
    if any(part.hands_over for part in case.parts):
        unseen = tuple(f"{CHANGES_GUARDED}{path}" for path in case.context.changed_guarded)
    elif any(part.commits for part in case.parts):
        unseen = tuple(f"{COMMITS_GUARDED}{path}" for path in case.context.changed_committed)
    # The record keeps the first ones: some of each sort.
    effects = [*inputs[:_SOME], *unseen[:_SOME], *inputs[_SOME:], *unseen[_SOME:]]
    for part in case.reading.parts:
        if part.program and part.tool != "network":
            effects.append(f"runs {part.program}")
        for place in part.places:
            where = place.relative or place.path
            if place.touch.verb in CHANGES:
                effects.append(f"{place.touch.verb} {where}")
                if _verifies(case.context, place.relative):
                    effects.append(f"{CHANGES_VERIFICATION}{where}")
            elif not place.inside:
                effects.append(f"{place.touch.verb} {where}")
        if part.network:
            effects.append("network")
    return tuple(dict.fromkeys(effects))


def _verifies(context: Context, relative: str) -> bool:
    return bool(relative) and any(
        covers(pattern, relative) for pattern in context.verification_inputs
    )
