"""Every escape, one after the other, in one cage: which were not held.

A probe of escapes/*.toml has the words `sh`, `py` or `argv` to run, and of these:

    must      "fail" (the usual) or "work"
    status    the exit status instead
    wall      seconds that it is given; `within`, `at_least`: how long it may and must take
    timed_out it is ended by the clock
    says      what it must print; `total`: bytes that it must print
    absent    paths that must not exist afterwards; `settle`: after that many seconds
    then      a second command in the same cage, which must work
    only      backends that it is for
    landlock  the probe that stands for the same admitted weakness of that backend
    control   false: it would do harm, or prove nothing, where there are no walls

Always looked at afterwards: the secret is in no output, the services of the machine heard nothing,
its processes, files and repository are as they were, no process and no set-user-id file is left.
"""

from __future__ import annotations

import os
import time
import tomllib
import uuid
from collections.abc import Iterable
from typing import Any, Protocol

from cage_making import alive, until
from ground import Ground

from runtime.core.commands import Command, Exec, Shell
from runtime.policy.authorised import Authorised, by_operator
from runtime.sandbox import Limits, Result
from tests.clock import TRIES

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "escapes")
MIB = 1 << 20
BOUNDS = Limits(
    memory_bytes=512 * MIB, file_bytes=32 * MIB, written_bytes=256 * MIB, tmpfs_bytes=8 * MIB,
    wall_seconds=12.0,
)  # fmt: skip
Probe = dict[str, Any]


class Runner(Protocol):
    """A cage, or what makes one for each command."""

    def run(self, authorised: Authorised[Command], *, timeout: float | None = None) -> Result: ...


def probes() -> dict[str, Probe]:
    """All of them, in the order of their files."""
    found: dict[str, Probe] = {}
    for name in ("reading", "writing", "processes", "network"):
        with open(f"{FOLDER}/{name}.toml", "rb") as file:
            found |= tomllib.load(file)
    return found


def admitted(probe: str, about: Probe, facts: dict[str, str | int | bool]) -> bool:
    """Whether the attestation itself says that this one is not held."""
    return about.get("landlock", probe) in str(facts.get("not_held", "")).split()


def run(
    ground: Ground, cage: Runner, backend: str, wanted: Iterable[str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Complaints by probe that was not held, and the probes that the attestation admits."""
    failed: dict[str, str] = {}
    weak: list[str] = []
    for name, about in probes().items():
        if backend not in about.get("only", [backend]) or (wanted and name not in wanted):
            continue
        complaints, facts = attempt(ground, cage, about)
        if admitted(name, about, facts):
            weak.append(name)
        if complaints:
            failed[name] = f"{about['about']}: {'; '.join(complaints)}"
    return failed, weak


def attempt(
    ground: Ground, cage: Runner, about: Probe
) -> tuple[list[str], dict[str, str | int | bool]]:
    """One probe: what was not as it must be. The ground is restored. Where nothing is wrong but
    that it was late, there are more tries."""
    for _ in range(TRIES):
        wrong, late, facts = _try(ground, cage, about)
        if wrong or not late:
            break
    return wrong + late, facts


def _try(
    ground: Ground, cage: Runner, about: Probe
) -> tuple[list[str], list[str], dict[str, str | int | bool]]:
    """What was wrong, what was late, and what was attested."""
    tag = str(uuid.uuid4().int % 10**14)
    began = time.monotonic()
    result = cage.run(command(ground, about, tag), timeout=about.get("wall"))
    took = time.monotonic() - began
    wrong = _judged(about, result, took)
    late = [f"it took {took:.2f} s"] if took > about.get("within", 60) else []
    if "then" in about:
        second = cage.run(by_operator(Shell(ground.told(about["then"], tag)), "test"))
        if second.status != 0:
            wrong.append(f"then: {second.status} {second.failure} {second.text('stderr')}")
    time.sleep(about.get("settle", 0))
    wrong += _left(ground, about, tag)
    if ground.secret in result.text() + result.text("stderr"):
        wrong.append("the secret was seen")
    if wrong:
        said = (result.text() + result.text("stderr")).strip()[-200:]
        wrong.append(repr((result.status, result.signal, result.limit, result.failure, said)))
    ground.restore(shaken=bool(wrong or late))
    return wrong, late, result.attestation


def command(ground: Ground, about: Probe, tag: str) -> Authorised[Command]:
    """What a probe runs."""
    if "sh" in about:
        return by_operator(Shell(ground.told(about["sh"], tag)), "test")
    if "py" in about:
        words = ["python3", "-I", "-c", ground.told(about["py"], tag)]
    else:
        words = [ground.told(word, tag) for word in about["argv"]]
    return by_operator(Exec(words[0], tuple(words[1:])), "test")


def _judged(about: Probe, result: Result, took: float) -> list[str]:
    """The result by itself."""
    wrong = []
    if "status" in about:
        if result.status != about["status"]:
            wrong.append(f"status {result.status}")
    elif (result.status == 0) != (about.get("must", "fail") == "work"):
        wrong.append("it worked" if result.status == 0 else "it did not work")
    if result.failure:
        wrong.append(result.failure)
    if result.timed_out != about.get("timed_out", False) and "within" not in about:
        wrong.append(f"timed out: {result.timed_out}")
    if took < about.get("at_least", 0):
        wrong.append(f"it took {took:.2f} s")
    if about.get("says", "") not in result.text() + result.text("stderr"):
        wrong.append("it did not say so")
    if "total" in about and result.stdout_bytes != about["total"]:
        wrong.append(f"{result.stdout_bytes} bytes")
    if len(result.stdout) > BOUNDS.output_bytes or len(result.stderr) > BOUNDS.output_bytes:
        wrong.append("too much was kept")
    return wrong


def _left(ground: Ground, about: Probe, tag: str) -> list[str]:
    """What it did to the machine."""
    wrong = [f"{path} exists" for raw in about.get("absent", ())
             if os.path.lexists(path := ground.told(raw, tag))]  # fmt: skip
    for path in about.get("absent", ()):
        place = ground.told(path, tag)
        if os.path.lexists(place) and "m31a" in os.path.basename(place):
            os.unlink(place)
    now = ground.state()
    wrong += [f"changed: {what}" for what, value in now.items() if value != ground.before[what]]
    if ground.hits:
        wrong.append(f"heard by {', '.join(ground.hits)}")
    if "{TAG}" in str(about) and not until(lambda: not alive(tag), 20):
        wrong.append(f"processes are left: {alive(tag)}")
        for pid in alive(tag):
            os.kill(pid, 9)
    with os.scandir(ground.ws) as entries:
        wrong += [f"set-user-id: {entry.name}" for entry in entries
                  if entry.is_file(follow_symlinks=False) and entry.stat().st_mode & 0o6000]  # fmt: skip
    return wrong
