"""What an action came to, before it is journaled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runtime.artifacts import ArtifactFact
from runtime.core import canonical
from runtime.journal.kind import Payload
from runtime.sandbox import Result
from runtime.secrets import redactor

MAX_OBSERVATION = 16_000
"""Characters of one observation that the model sees."""
MAX_HOSTS, MAX_CONTACTS = 400, 1200
"""Characters of a list of hosts and bytes of contacts in one trace: an event has to hold it."""


@dataclass
class Outcome:
    """`observation` is what the model sees; `events` follow the action's own in the journal."""

    ok: bool
    observation: str
    cut: int = 0
    diff: str | None = None
    trace: dict[str, Any] | None = None
    artifacts: list[ArtifactFact] = field(default_factory=list)
    events: list[Payload] = field(default_factory=list)
    instead: Payload | None = None
    """Journaled in place of `action.completed`: a refusal."""


def observable(text: str) -> tuple[str, int]:
    """A text as an observation: redacted before it is cut, so that no secret is cut in two."""
    return bounded(redactor().text(text))


def bounded(text: str, limit: int = MAX_OBSERVATION) -> tuple[str, int]:
    """Head and tail of a text with a visible mark between, and how many characters are missing."""
    if len(text) <= limit:
        return text, 0
    half = limit // 2
    return joined(text[:half], text[-half:], len(text)), len(text) - 2 * half


def joined(head: str, tail: str, whole: int) -> str:
    """Both ends of a text of `whole` characters, with the visible mark between."""
    missing = whole - len(head) - len(tail)
    return f"{head}\n[… {missing} characters left out here …]\n{tail}"


def trace_of(program: str, argument_count: int, result: Result) -> dict[str, Any]:
    """Metadata of an executed command: never arguments or output."""
    return {
        "program": program,
        "argument_count": argument_count,
        "status": result.status,
        "signal": result.signal,
        "timed_out": result.timed_out,
        "cancelled": result.cancelled,
        "limit": result.limit,
        "truncated": result.truncated,
        "stdout_bytes": result.stdout_bytes,
        "stderr_bytes": result.stderr_bytes,
        "duration_ms": result.duration_ms,
        "cpu_ms": result.cpu_ms,
        "peak_memory": result.peak_memory,
        "sandbox": _confinement(result),
    }


def _confinement(result: Result) -> dict[str, Any]:
    """What confined a command, and the hosts that its proxy was asked for, as many as there is room
    for. A name may be made to carry something out, so it is redacted."""
    facts: dict[str, Any] = dict(result.attestation)
    if "network_hosts" in facts:
        facts["network_hosts"] = _listed(str(facts["network_hosts"]).split(" "))
    contacts: list[Any] = []
    left = MAX_CONTACTS
    for contact in result.contacts:
        row = redactor().value(dict(contact))
        left -= len(canonical.encode(row))
        if left < 0:
            facts["contacts_left_out"] = len(result.contacts) - len(contacts)
            break
        contacts.append(row)
    return facts | ({"contacts": contacts} if contacts else {})


def _listed(hosts: list[str]) -> str:
    """Hosts in one text; how many of them it has no room for. `action.started` holds them all."""
    text, shown = "", 0
    for host in hosts:
        if len(text) + len(host) > MAX_HOSTS:
            return f"{text}and {len(hosts) - shown} more"
        text, shown = f"{text}{host} ", shown + 1
    return text.strip()
