"""The ways to confine a command, what each of them enforces and what it cannot.

- bubblewrap: namespaces, a tree of its own, a filter. Holds everything.
- landlock: where no user namespaces are to be had. Paths are the machine's, other things weaker.
- seatbelt: macOS, by a profile; supervised without a broker.
- none: limits and supervision only, for a workspace whose owner says so in writing.
"""

from __future__ import annotations

import os
import sys

from runtime.core.errors import Unavailable
from runtime.sandbox import accounts, bubblewrap, direct, landlock, layout, seatbelt, seccomp
from runtime.sandbox.prepared import Facts, Prepared
from runtime.sandbox.spec import CageSpec

BUBBLEWRAP, LANDLOCK, SEATBELT, NONE = "bubblewrap", "landlock", "seatbelt", "none"
ORDER = (SEATBELT,) if sys.platform == "darwin" else (BUBBLEWRAP, LANDLOCK)
"""Those of this system, the strongest first."""

NOT_HELD = {
    "F20": "the machine's network interfaces can be seen, though not used",
    "W08": "hooks in a .git directory given as it is can be written",
    "W09": "settings in a .git directory given as it is can be written",
    "W12": "a .git directory given as it is can be replaced",
    "W17": "mode, times and attributes of the account's other files can be changed",
    "W23": "/tmp is closed; only $TMPDIR is private",
    "P21": "the bounding set of capabilities is not empty",
    "P30": "numbers and command lines of other processes can be seen",
}
"""What Landlock cannot hold, by the probe that shows it."""
_BY_ROOT, _BY_OWN_ACCOUNT = "P21", "W17"  # held all the same where root starts the cage, or where
# the account of the run owns nothing but its run

LAYERS = {
    BUBBLEWRAP: "namespaces:user,mount,pid,network,ipc,uts,cgroup read-only-root private-etc"
    " private-tmp no-capabilities no-new-privileges seccomp limits",
    LANDLOCK: "landlock:files,tcp,signals,abstract-sockets no-capabilities no-new-privileges"
    " seccomp:alone keeper limits",
    SEATBELT: "seatbelt:deny-default limits:files,file-size process-group",
    NONE: "no-capabilities no-new-privileges keeper limits",
}


def prepare(name: str, spec: CageSpec, covers: tuple[layout.Cover, ...]) -> Prepared:
    """The set-up of a backend for `spec`. Raises Unavailable where it is not to be had or a source
    is missing, BadInput for a spec that cannot be built safely."""
    if name == BUBBLEWRAP:
        return _bubblewrap(spec, covers)
    if name == LANDLOCK:
        return _landlock(spec)
    if name == SEATBELT:
        return _seatbelt(spec, covers)
    if name == NONE:
        facts = _facts(NONE, network="open", seccomp="none", user_namespaces="allowed")
        return direct.prepare(spec, b"", facts | _WITHOUT_NAMESPACES, walls=False)
    raise Unavailable(f"There is no backend {name!r} on this system.", field="M31A_SANDBOX")


def not_held(name: str, uid: int | None) -> dict[str, str]:
    """What a backend does not hold here for commands of an account, by probe."""
    if name != LANDLOCK:
        return {}
    found = dict(NOT_HELD)
    if uid is not None:
        del found[_BY_ROOT]
        low, high = accounts.uid_range()
        if low <= uid <= high:
            del found[_BY_OWN_ACCOUNT]
    return found


def _bubblewrap(spec: CageSpec, covers: tuple[layout.Cover, ...]) -> Prepared:
    bwrap = bubblewrap.find()
    plan = layout.plan(spec, bwrap, covers)
    facts = _facts(BUBBLEWRAP, network="none", seccomp="denylist", user_namespaces="disabled")
    return Prepared(
        sources=plan.sources,
        facts=facts
        | {
            "bubblewrap_version": bwrap.version,
            "bubblewrap_kind": bwrap.kind,
            "process_limit": "rlimit",
            "tmpfs_limit": "size",
        },
        filter=seccomp.build(),
        bwrap=plan.bwrap,
        arguments=plan.arguments,
    )


def _landlock(spec: CageSpec) -> Prepared:
    version = landlock.version()
    if version < landlock.OLDEST:
        has = f"has version {version} of it" if version else "has none"
        raise Unavailable(
            f"Landlock {landlock.OLDEST} is needed to confine without namespaces; this kernel {has}.",
            remedy="Use Linux 6.12 or newer with landlock among its security modules (lsm=).",
        )
    facts = _facts(LANDLOCK, network="none", seccomp="denylist alone", user_namespaces="denied")
    facts |= {"landlock_version": version, "not_held": " ".join(not_held(LANDLOCK, spec.uid))}
    filter_text = seccomp.build(alone=True)
    return direct.prepare(spec, filter_text, facts | _WITHOUT_NAMESPACES, walls=True)


def _seatbelt(spec: CageSpec, covers: tuple[layout.Cover, ...]) -> Prepared:
    if not os.access(seatbelt.PROGRAM, os.X_OK):
        raise Unavailable(
            f"{seatbelt.PROGRAM} is not there; no command can be confined.",
            remedy="Run the server on macOS as it is delivered, or on Linux.",
        )
    if spec.uid is not None:
        raise Unavailable(
            "On macOS commands run as the person that started the server, and that is root.",
            remedy="Start the server as an ordinary user.",
        )
    layout.check_sources(spec)
    private = direct.make_private(spec)
    facts = _facts(SEATBELT, network="none", seccomp="none", user_namespaces="none")
    return Prepared(
        sources=(),
        facts=facts
        | {
            "not_held": "F20 W23 P10 P12 P21 P22 P30",
            "memory_limit": "none",
            "process_limit": "none",
            "tmpfs_limit": "none",
        },
        profiles={name: seatbelt.profile(spec, name, private, covers) for name in layout.PROFILES},
        places=direct.places_of(spec),
        env=direct.variables(spec, private),
        private=private,
    )


_WITHOUT_NAMESPACES: Facts = {"process_limit": "rlimit of the account", "tmpfs_limit": "none"}


def _facts(name: str, *, network: str, seccomp: str, user_namespaces: str) -> Facts:
    """What every backend says of itself."""
    return {
        "backend": name,
        "layers": LAYERS[name],
        "network": network,
        "seccomp": seccomp,
        "capabilities": "none",
        "user_namespaces": user_namespaces,
        "memory_limit": "rlimit+watcher",
        "file_limit": "rlimit",
    }
