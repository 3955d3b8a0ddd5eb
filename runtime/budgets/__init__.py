"""What a run may use, what it has used, and whether it may go on. Only answers; asks nobody."""

from .prices import Price, price
from .standing import Line, Standing, Verdict, judge, lines, standing
from .table import BUDGETS, OWN, Budget, checked, limits, parse, shown

__all__ = [
    "BUDGETS",
    "OWN",
    "Budget",
    "Line",
    "Price",
    "Standing",
    "Verdict",
    "checked",
    "judge",
    "limits",
    "lines",
    "parse",
    "price",
    "shown",
    "standing",
]
