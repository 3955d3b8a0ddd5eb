"""How a process of the cluster learns that it is to end soon.

The supervisor sends `SIGNAL` to the whole process group. The handler only sets a flag; the
renewal thread reads it and tells the slice, which ends at its next step and releases the lease.
"""

from __future__ import annotations

import signal
from types import FrameType

SIGNAL = signal.SIGUSR1

_asked = False


def listen() -> None:
    """From now on, note the request. Children by fork inherit this, programs by exec do not."""
    signal.signal(SIGNAL, _note)


def _note(number: int, frame: FrameType | None) -> None:
    global _asked
    _asked = True


def asked() -> bool:
    """Whether this process was asked to end."""
    return _asked
