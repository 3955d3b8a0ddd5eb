"""Questions to people: asked durably, answered once, remembered where somebody says so."""

from .answers import Answered, approve_if_theirs, decide, decide_many
from .cards import Card, card, offers, similar
from .deciding import check_comment
from .editing import edit
from .expiring import cancel_open, expire_due, supersede
from .inbox import Waiting, overdue, pending, waiting
from .preview import Preview, preview
from .regating import Regate, regate
from .reminding import remind_due
from .requesting import Question, request
from .revoking import live_grants, revoke
from .scopes import Scope, parse_scope

__all__ = [
    "Answered",
    "Card",
    "Preview",
    "Question",
    "Regate",
    "Scope",
    "Waiting",
    "approve_if_theirs",
    "cancel_open",
    "card",
    "check_comment",
    "decide",
    "decide_many",
    "edit",
    "expire_due",
    "live_grants",
    "offers",
    "overdue",
    "parse_scope",
    "pending",
    "preview",
    "regate",
    "remind_due",
    "request",
    "revoke",
    "similar",
    "supersede",
    "waiting",
]
