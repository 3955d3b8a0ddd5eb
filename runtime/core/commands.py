"""The two things that can be executed. They stay two types down to the sandbox: never joined, never split."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exec:
    """One program with arguments, passed byte for byte. `cwd` is relative to the worktree."""

    program: str
    args: tuple[str, ...] = ()
    cwd: str = "."
    env: tuple[tuple[str, str], ...] = ()

    def argv(self) -> list[str]:
        """What is executed."""
        return [self.program, *self.args]


@dataclass(frozen=True, slots=True)
class Shell:
    """One script for `/bin/sh`. `cwd` is relative to the worktree."""

    script: str
    cwd: str = "."
    env: tuple[tuple[str, str], ...] = ()

    def argv(self) -> list[str]:
        """What is executed: never a login shell, so no profile is read."""
        return ["/bin/sh", "-c", self.script]


Command = Exec | Shell
