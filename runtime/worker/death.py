"""Processes that end when their parent does, even when it is killed."""

from __future__ import annotations

import ctypes
import os
import signal

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36

# Loaded before any fork: the hooks below must not have to open a library.
_libc = ctypes.CDLL(None, use_errno=True)
_parent = 0


def with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends."""
    if _libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")


def of_forks_too() -> None:
    """From now on every process forked from this one, at any depth, dies with its own parent."""
    os.register_at_fork(before=_remember, after_in_child=_follow)


def _remember() -> None:
    global _parent
    _parent = os.getpid()


def _follow() -> None:
    with_parent()
    if os.getppid() != _parent:  # it died before the request was made
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent has died, so that they can be found."""
    if _libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
