"""Which hosts a command may reach: those that it names, and those registered for its workspace."""

from __future__ import annotations

from typing import Protocol

from runtime.policy import Verdict, reach


class Registered(Protocol):
    """What is needed of a workspace."""

    @property
    def hosts(self) -> list[str]: ...


def reachable(workspace: Registered, verdict: Verdict) -> tuple[str, ...]:
    """What a command may reach once it is permitted; nothing where it needs no network, or where
    no host is named or registered."""
    return reach.of_action(verdict.hosts, workspace.hosts) if verdict.network else ()


def told(workspace: Registered, verdict: Verdict) -> str | list[str]:
    """The same for the card, before it is permitted."""
    hosts = reachable(workspace, verdict)
    if hosts:
        return [reach.spoken(host) for host in hosts]
    return "none: no host is named or registered" if verdict.network else "none"
