"""The only builder of the gate's context, for every door: worker, command line and pages."""

from . import backtest, policies, recorded
from .context import Ruled, Subject, decide, ruled
from .dry import check

__all__ = ["Ruled", "Subject", "backtest", "check", "decide", "policies", "recorded", "ruled"]
