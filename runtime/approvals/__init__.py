"""Questions to people: asked durably, answered once, remembered where somebody says so."""

from .cards import Card, card, similar
from .deciding import decide
from .expiring import cancel_open, expire_due, supersede
from .inbox import pending, pending_count
from .regating import Regate, regate
from .requesting import Question, request
from .scopes import Scope, parse_scope

__all__ = [
    "Card",
    "Question",
    "Regate",
    "Scope",
    "cancel_open",
    "card",
    "decide",
    "expire_due",
    "parse_scope",
    "pending",
    "pending_count",
    "regate",
    "request",
    "similar",
    "supersede",
]
