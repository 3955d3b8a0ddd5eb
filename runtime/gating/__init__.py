"""The only builder of the gate's context, for every door: worker, command line and pages."""

from . import backtest, policies, recorded
from .context import Subject, binding, decide, weigh
from .dry import check

__all__ = ["Subject", "backtest", "binding", "check", "decide", "policies", "recorded", "weigh"]
