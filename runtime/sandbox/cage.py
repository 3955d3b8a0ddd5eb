"""The only door through which a command is executed."""

from __future__ import annotations

from runtime.sandbox import choice
from runtime.sandbox.cell import Cell


class Cage(Cell):
    """A cell on a machine that has shown, in this process, that it can confine.

    Making one costs nothing. Its first `run` chooses the backend, does its self-test (once per
    process) and starts the broker; it raises Unavailable, with the diagnosis and the remedy, where
    confinement fails or would be weaker than the spec asks.
    """

    def _prove(self) -> str:
        return choice.backend_for(self.spec, self._covers)
