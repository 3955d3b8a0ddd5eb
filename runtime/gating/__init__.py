"""The only builder of the gate's context, for every door: worker, command line and pages."""

from . import backtest, policies, recorded
from .context import Subject, decide
from .dry import check

__all__ = ["Subject", "backtest", "check", "decide", "policies", "recorded"]
