"""An action as the gate reads it: parts, each with what it touches and what is remarkable."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from .decision import Decision
from .facts import Facts


class Verb(StrEnum):
    """What is done to a path."""

    READ = "reads"
    LIST = "lists"
    WRITE = "writes"
    DELETE = "deletes"
    RUN = "runs"


CHANGES = frozenset({Verb.WRITE, Verb.DELETE})
COMMANDS = frozenset({"run_tool", "run_shell", "start_job"})
"""Tools whose parts are commands of the cage."""
KINDRED = {
    "start_job": frozenset({"start_job", "run_tool"}),
    "apply_patch": frozenset({"apply_patch", "replace_text", "write_file"}),
}
"""Tools that do what others do: a rule that refuses or asks about one of those is about them."""
RemarkStage = Literal["canonicalise", "boundary", "veto", "defaults"]


@dataclass(frozen=True, slots=True)
class Touch:
    """`path` as it was written. `deep`: everything below it as well. `met`: no word names it; it
    is what a link leads to that a pattern, or the way down from a directory, meets; `whole`: it is
    the worktree, for git shows content of files that no word names."""

    verb: Verb
    path: str
    pattern: bool = False
    deep: bool = False
    met: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that a reader noticed; the named stage turns it into an outcome."""

    stage: RemarkStage
    decision: Decision
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """A touch, seen. `path` is absolute and lexically normal; `relative` is below the
    worktree, or "" outside it; `real` is `relative` after following links."""

    touch: Touch
    path: str
    inside: bool
    relative: str
    real: str
    facts: Facts

    @property
    def names(self) -> tuple[str, ...]:
        """Both paths that a rule has to hold against: as written, and as resolved."""
        return (
            (self.path,) if self.facts.resolved == self.path else (self.path, self.facts.resolved)
        )


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command, or one operation on files. `program` is "" for the latter.

    `capability` is what a role needs for it; `network` says that it talks to the outside,
    `hosts` which hosts it names, as far as that can be read. `delivers`: it hands over work
    whose own proof was changed, or guarded files that nobody has seen.
    """

    tool: str
    program: str = ""
    argv: tuple[str, ...] = ()
    cwd: str = "."
    places: tuple[Place, ...] = ()
    remarks: tuple[Remark, ...] = ()
    mutation: bool = True
    network: bool = False
    delivers: bool = False
    capability: str = "run"
    resolved: str | None = None
    hosts: tuple[str, ...] = ()

    @property
    def hands_over(self) -> bool:
        """Whether the run's work leaves its worktree by it."""
        return self.tool == "finish" or self.capability == "push"

    @property
    def commits(self) -> bool:
        """Whether the whole tree becomes a commit of the run's branch by it."""
        if self.tool == "git_commit":
            return True
        return self.program == "git" and self.capability == "commit" and "commit" in self.argv

    @property
    def contained(self) -> bool:
        """Whether its known effects stay in the worktree, without network."""
        return (
            not self.network
            and not self.delivers
            and all(
                place.inside or place.touch.verb in (Verb.READ, Verb.LIST) for place in self.places
            )
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """The whole action: its parts in order, the working directory, and what goes into its key."""

    parts: tuple[Part, ...]
    cwd: str = "."
    canonical: dict[str, object] = field(default_factory=dict)

    @property
    def mutation(self) -> bool:
        """Whether any part changes something outside the model's own context."""
        return any(part.mutation for part in self.parts)
