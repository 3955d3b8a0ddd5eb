"""Confinement of every command, and the few trusted processes that the server itself runs."""

from runtime.sandbox.accounts import pick_uid, uid_range
from runtime.sandbox.cage import Cage
from runtime.sandbox.choice import (
    ACCEPTABLE,
    check,
    check_for_runs,
    findings,
    is_open,
    pinned,
    places,
    require_covers,
    tried,
)  # fmt: skip
from runtime.sandbox.client import end_leftovers
from runtime.sandbox.etc import base_etc, shared_etc
from runtime.sandbox.host import run_host
from runtime.sandbox.oneshot import OneShot, run_one
from runtime.sandbox.prepared import placed
from runtime.sandbox.spec import CageSpec, Finding, HostResult, Limits, Mount, Result
from runtime.sandbox.toolchains import Toolchain, find_toolchains

__all__ = [
    "ACCEPTABLE", "Cage", "CageSpec", "Finding", "HostResult", "Limits", "Mount", "OneShot",
    "Result", "Toolchain", "base_etc", "check", "check_for_runs", "end_leftovers",
    "find_toolchains", "findings", "is_open", "pick_uid", "pinned", "placed", "places",
    "require_covers", "run_host", "run_one", "shared_etc", "tried", "uid_range",
]  # fmt: skip
