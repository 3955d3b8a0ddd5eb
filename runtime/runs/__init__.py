"""What people do with runs: submit, cancel, retry, read. Each wish is one call from every door."""

from .cancelling import cancel
from .granting import grant_budget
from .reading import diff, guarded_changed, inputs_changed, report, status, summaries
from .registering import register_workspace
from .retrying import retry
from .submitting import Submission, Submitted, submit

__all__ = [
    "Submission",
    "Submitted",
    "cancel",
    "diff",
    "grant_budget",
    "guarded_changed",
    "inputs_changed",
    "register_workspace",
    "report",
    "retry",
    "status",
    "submit",
    "summaries",
]
