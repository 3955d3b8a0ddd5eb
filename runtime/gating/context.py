"""From a task and its workspace to the gate's verdict on one action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from runtime.policy import (
    ApprovalFact,
    Context,
    GrantFact,
    Links,
    Look,
    Request,
    RuleLayer,
    Verdict,
    Which,
    gate,
)
from runtime.policy.binding import Binding, bind
from runtime.policy.guarding import weight
from runtime.policy.language import Book
from runtime.policy.reading import Verb
from runtime.policy.rules import Circumstances

from . import grants, policies

AGENT_HOME = "/home/agent"


@dataclass(frozen=True)
class Subject:
    """On whose behalf and where: everything that stays the same for a task while it is held."""

    run: str
    task: str
    role: str
    kind: str
    mode: str
    workspace: str
    root: str
    allowed: frozenset[str]
    remotes: Mapping[str, str]
    write_paths: tuple[str, ...]
    look: Look
    links: Links | None
    which: Which
    verification_inputs: tuple[str, ...] = ()
    changed_inputs: tuple[str, ...] = ()
    """Of these files, the ones that a `finish` would deliver changed."""
    changed_guarded: tuple[str, ...] = ()
    """Guarded files that a `finish` or a push would hand over as a command has left them."""
    changed_committed: tuple[str, ...] = ()
    """Those that a commit would take."""
    home: str = AGENT_HOME
    repository_runs: tuple[str, ...] = ()
    """Settings of the repository's own git configuration that run programs, where git would
    obey them. A run's git never reads that configuration."""
    user: str = ""
    """Who submitted the run, for the rules of the user layer."""


def decide(
    subject: Subject,
    raw: object,
    *,
    tree: str,
    now: datetime,
    approval: ApprovalFact | None = None,
    audit: Literal["journal", "dry run"] = "journal",
    live: tuple[GrantFact, ...] | None = None,
    book: Book | None = None,
) -> Verdict:
    """The gate's verdict on a raw action. `approval` is the one that is being consumed.

    `live` and `book` stand in for the grants and the rules that are in force. Raises
    `PolicyFault` where there are no rules that could be used.
    """
    if live is None:
        live = grants.live(subject.task, subject.run, subject.workspace, now, subject.user)
    if book is None:
        book = policies.in_force("worker") if audit == "journal" else policies.current()
    request = Request(
        action=raw,
        run=subject.run,
        task=subject.task,
        role=subject.role,
        kind=subject.kind,
        mode=subject.mode,
        workspace=subject.workspace,
    )
    context = Context(
        root=subject.root,
        home=subject.home,
        write_paths=subject.write_paths,
        allowed=subject.allowed,
        look=subject.look,
        links=subject.links,
        which=subject.which,
        remotes=subject.remotes,
        verification_inputs=subject.verification_inputs,
        changed_inputs=subject.changed_inputs,
        changed_guarded=subject.changed_guarded,
        changed_committed=subject.changed_committed,
        grants=live,
        approval=approval,
        tree=tree,
        layers=layers_of(subject, book),
        repository_runs=subject.repository_runs,
        moment=now,
        audit=audit,
    )
    return gate(request, context)


def layers_of(subject: Subject, book: Book) -> tuple[RuleLayer, ...]:
    """The layers of rules that hold for it."""
    return book.layers(
        workspace=subject.workspace,
        user=subject.user,
        run=subject.run,
        role=subject.role,
        kind=subject.kind,
    )


@dataclass(frozen=True)
class Ruled:
    """What the rules about paths say of a task now, beyond what its actions name. `binding`: those
    that hold for its commands whatever these do."""

    layers: tuple[RuleLayer, ...]
    around: Circumstances
    root: str
    binding: Binding | None

    def weight(self, path: str, *, removed: bool) -> int:
        """How grave it is that a file was changed, or removed, by what no action named; 0: not."""
        verb = Verb.DELETE if removed else Verb.WRITE
        return weight(self.layers, self.around, (self.root, path), verb)

    def forbids(self, path: str) -> bool:
        """Whether no task may ever change a file."""
        return self.binding is not None and self.binding.forbids(path)


def ruled(subject: Subject, now: datetime) -> Ruled | None:
    """What the rules in force say of paths; None: nothing. Raises `PolicyFault` as `decide`."""
    layers = layers_of(subject, policies.in_force("worker"))
    if not any(rule.path for layer in layers for rule in layer.rules):
        return None
    around = Circumstances(subject.role, subject.kind, subject.mode, now)
    return Ruled(layers, around, subject.root, bind(layers, around, subject.root))
