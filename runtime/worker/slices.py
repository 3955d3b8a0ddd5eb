"""One slice of one claimed task, with its lease kept alive meanwhile."""

from __future__ import annotations

import logging
import threading

from runtime import agent, tasks
from runtime.core.errors import StaleFence
from runtime.worker import presence
from runtime.worker.renewal import Renewal

log = logging.getLogger(__name__)


def drive(claim: tasks.Claim, stop: threading.Event) -> None:
    """Drive the claim until its slice ends. A lost lease ends it quietly: somebody else has the task.

    Raises what the driver raises; the lease then runs out, or is reaped with this process.
    """
    presence.seen(claim.task)
    try:
        with Renewal(claim, stop) as renewal:
            agent.drive(claim, stop=stop, cancel=renewal.cancel, lost=renewal.lost)
    except StaleFence:
        log.warning("Task %s was taken over while it was driven here.", claim.task)
    finally:
        presence.seen()
