"""The cage of what may be run for a model, which holds what rules deny to every command.

The gate sees what an action names. What a script opens by itself, only its cage can keep from it:
so before each command what rules deny is looked for, and covered. Git's own writes and reads of the
worktree go on in the task's plain cage, where nothing proposed runs but git's fixed commands.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from runtime.core.errors import BadInput, M31AError, Refused
from runtime.policy.binding import Binding
from runtime.sandbox import Cage, CageSpec, require_covers
from runtime.sandbox.denied import Held, covers, find
from runtime.sandbox.layout import Cover
from runtime.workspaces.space import RunSpace

Key = tuple[bool, tuple[Held, ...]]
NO_GIT = (
    "git's objects hold the same bytes, so commands have none: use git_status, git_log, git_show"
)


class Maker(Protocol):
    """Makes a cage of a worktree; `noted` stands in the attestations of its commands."""

    def __call__(
        self, spec: CageSpec, covers: tuple[Cover, ...] = (), noted: dict[str, str] | None = None
    ) -> Cage: ...


class Walls:
    """Of the commands in one worktree. `binding` gives the rules that bind them now, `base` the tree
    where the run began, `plain` the cage where there are no such rules. `changing` is called before
    something else is covered: whatever still runs in the old cage must end."""

    def __init__(
        self,
        space: RunSpace,
        label: str,
        *,
        binding: Callable[[], Binding | None],
        base: Callable[[], str],
        plain: Callable[[], Cage],
        make: Maker,
        changing: Callable[[], None] = lambda: None,
    ) -> None:
        self._space, self._label = space, label
        self._binding, self._base, self._changing = binding, base, changing
        self._plain, self._make = plain, make
        self._key: Key | None = None
        self._cage: Cage | None = None
        self.note = ""
        """What the model is told about it behind each output."""

    def cage(self) -> Cage:
        """The cage of the next command. Raises `Refused` where what rules deny cannot be held,
        `Unavailable` where nothing can be confined."""
        binding, key = self._wanted()
        if key != self._key:
            self._changing()
            self.close()
            binding, key = self._wanted()  # what has ended now may have moved things meanwhile
            self._key = key
        if binding is None or key is None:
            return self._plain()
        if self._cage is None:
            try:
                self._cage = self._made(binding, key)
            except BadInput as error:
                raise Refused(error.message, remedy=error.remedy) from error
        return self._cage

    def _wanted(self) -> tuple[Binding | None, Key | None]:
        """The rules, and what is to be held for them. Where nobody can tell, nothing goes on."""
        try:
            binding = self._binding()
            return binding, None if binding is None else self._find(binding)
        except M31AError as error:
            self._changing()
            self.close()
            if isinstance(error, BadInput):
                raise Refused(error.message, remedy=error.remedy) from error
            raise

    def beside(self, space: RunSpace, plain: Callable[[], Cage]) -> Walls:
        """The same for another worktree of the run, in which nothing else works."""
        return Walls(
            space,
            self._label,
            binding=self._binding,
            base=self._base,
            plain=plain,
            make=self._make,
        )

    def _find(self, binding: Binding) -> Key | None:
        """What is to be held, and whether git's objects are hidden. None: nothing."""
        require_covers(self._space.spec())
        try:
            held = self._held(binding)
        except BadInput:
            self._space.open_folders(self._plain())
            held = self._held(binding)
        return (binding.reads, held) if held or binding.reads else None

    def _held(self, binding: Binding) -> tuple[Held, ...]:
        account = os.geteuid() if self._space.uid is None else self._space.uid
        return find(str(self._space.tree), account, binding, self._known)

    def _known(self, path: str) -> bool:
        """Whether there was something at a path where the run began."""
        objects = self._space.repository.objects
        return objects.entry(self._base(), tuple(path.split("/"))) is not None

    def _made(self, binding: Binding, key: Key) -> Cage:
        reads, held = key
        spec = self._space.spec(self._label, git=not reads)
        laid = covers(spec.root, str(self._space.tree), held)
        hidden = sum(one.hides for one in held)
        fast = sum(one.bond is not None for one in held) - hidden
        told = f"rules {binding.names()}: {hidden} paths hidden, {fast} held fast"
        self.note = f"[{told}{f'; {NO_GIT}' if reads else ''}]\n"
        noted = {"path_rules": told[:400], "git_objects": "none" if reads else "read-only"}
        return self._make(spec, laid, noted)

    def close(self) -> None:
        """End the cage and whatever runs in it."""
        if self._cage is not None:
            self._cage.close()
            self._cage = None
        self._key = None
        self.note = ""
