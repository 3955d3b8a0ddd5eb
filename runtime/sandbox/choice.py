"""Which backend confines a command: the strongest that has proven itself, and never a weaker one
than was asked for, unless somebody has accepted that in writing."""

from __future__ import annotations

import os
from dataclasses import replace

from runtime.core.errors import BadInput, Refused, Unavailable
from runtime.sandbox import backends, direct, selftest
from runtime.sandbox.layout import Cover
from runtime.sandbox.prepared import Places
from runtime.sandbox.spec import CageSpec, Finding

ACCEPTABLE = ("", backends.LANDLOCK, backends.NONE)
"""What a workspace's owner can accept: nothing weaker, Landlock, or no walls at all."""


def pinned() -> str | None:
    """The backend that M31A_SANDBOX names: it is used or nothing runs. Raises BadInput for others.

    M31A_BWRAP, too, is used or nothing is.
    """
    name = os.environ.get("M31A_SANDBOX")
    if name is None:
        return backends.BUBBLEWRAP if "M31A_BWRAP" in os.environ else None
    if name not in backends.ORDER:
        raise BadInput(
            f"M31A_SANDBOX is {name!r}.",
            remedy=f"Choose one of {', '.join(backends.ORDER)}, or unset it. Running without walls is"
            " decided for one workspace: `m31a workspace add NAME PATH --sandbox none`.",
            field="M31A_SANDBOX",
        )
    return name


def check(*, fresh: bool = False) -> Finding:
    """The finding of the backend that would be used here; of the first one where none works.

    Never raises for a machine that cannot confine: that is a finding with ok=False and a remedy.
    """
    try:
        pin = pinned()
    except BadInput as error:
        return Finding(False, backends.NONE, error.message, error.remedy, {})
    found = []
    for name in _candidates(pin):
        finding = selftest.check(name, fresh=fresh)
        if finding.ok:
            return finding
        found.append(finding)
    first, *others = found
    said = "".join(f" Nor is there another way: {other.detail}" for other in others)
    return replace(first, detail=first.detail + said)


def check_for_runs(*, fresh: bool = False) -> Finding:
    """As `check`, for what runs need: a weaker backend that nobody has accepted for all of them
    does not count."""
    found = check(fresh=fresh)
    if not found.ok or found.backend != backends.LANDLOCK or pinned() is not None:
        return found
    stronger = selftest.check(backends.BUBBLEWRAP)
    return replace(
        found,
        ok=False,
        detail=f"{stronger.detail} Only {found.backend} works here; runs need what it cannot give.",
        remedy=f"{stronger.remedy} Or accept it: M31A_SANDBOX={found.backend}, or for one workspace"
        f" `m31a workspace add NAME PATH --sandbox {found.backend}`.",
    )


def tried() -> tuple[str, ...]:
    """The backends that `check` tries, the strongest first; none where the settings name no such."""
    try:
        return _candidates(pinned())
    except BadInput:
        return ()


def _candidates(pin: str | None) -> tuple[str, ...]:
    return (pin,) if pin else backends.ORDER


def findings() -> dict[str, Finding]:
    """Every backend of this system by name, tested."""
    return {name: selftest.check(name) for name in backends.ORDER}


def backend_for(spec: CageSpec, covers: tuple[Cover, ...]) -> str:
    """The backend for a spec.

    Raises Unavailable where none has proven itself, or where the one that has gives less than the
    spec asks and neither its owner (`spec.accepts`) nor the operator (M31A_SANDBOX) accepted that.
    """
    pin = pinned()
    if spec.accepts not in ACCEPTABLE:
        raise BadInput(f"There is no backend {spec.accepts!r} to accept.", field="accepts")
    if is_open(spec):
        return backends.NONE
    finding = check()
    if not finding.ok:
        raise Unavailable(finding.detail, remedy=finding.remedy)
    if finding.backend == backends.LANDLOCK and pin is None:
        _refuse_less(spec, covers, finding)
    return finding.backend


def require_covers(spec: CageSpec) -> None:
    """Raises Refused where commands of a spec are confined by what cannot lay anything over a path;
    Unavailable as `backend_for`."""
    name = backend_for(spec, ())
    if name != backends.BUBBLEWRAP:
        raise Refused(
            f"A rule denies paths to every command, and {name} can hide or hold none of them.",
            remedy="Register the workspace without --sandbox on a machine with bubblewrap, or name"
            " the tools in the rule, which binds their actions alone.",
        )


def is_open(spec: CageSpec) -> bool:
    """Whether commands of a spec have no walls at all, as its owner accepted. Raises as `pinned`."""
    return spec.accepts == backends.NONE and pinned() is None


def places(spec: CageSpec) -> Places:
    """Where commands of this spec find what it mounts; nothing where that is where it says.

    Costs nothing unless a weaker backend was accepted. Raises as `backend_for`.
    """
    strict = not spec.accepts and pinned() is None and backends.SEATBELT not in backends.ORDER
    if strict or backend_for(spec, ()) == backends.BUBBLEWRAP:
        return ()
    return direct.places_of(spec)


def _refuse_less(spec: CageSpec, covers: tuple[Cover, ...], finding: Finding) -> None:
    lacking = direct.asks_too_much(spec, covers)
    if not lacking or spec.accepts == finding.backend:
        return
    stronger = selftest.check(backends.BUBBLEWRAP)
    raise Unavailable(
        f"{stronger.detail} {finding.backend} works here, but it cannot give {'; '.join(lacking)}.",
        remedy=f"{stronger.remedy} Or accept the weaker backend: M31A_SANDBOX={finding.backend} for"
        f" all, `m31a workspace add NAME PATH --sandbox {finding.backend}` for one workspace.",
    )
