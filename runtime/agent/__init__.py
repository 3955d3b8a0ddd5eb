"""The agent: a step machine that folds the journal, and the driver that does what a step asks."""

from .driver import drive

__all__ = ["drive"]
