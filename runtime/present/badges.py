"""Decisions and states, with one look everywhere: word, icon and colour."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from . import text
from .icons import icon

_DECISIONS = {
    "ALLOW": ("allow", "check"),
    "ASK": ("ask", "ask"),
    "ESCALATE": ("escalate", "up"),
    "DENY": ("deny", "cross"),
}
_STATES = {
    "planning": ("idle", "clock"),
    "blocked": ("idle", "clock"),
    "ready": ("idle", "clock"),
    "running": ("live", "play"),
    "waiting": ("ask", "ask"),
    "cancelling": ("idle", "stop"),
    "succeeded": ("allow", "check"),
    "failed": ("deny", "cross"),
    "cancelled": ("idle", "stop"),
    "skipped": ("idle", "skip"),
    "pending": ("ask", "ask"),
    "approved": ("allow", "check"),
    "denied": ("deny", "cross"),
    "expired": ("idle", "clock"),
    "superseded": ("idle", "retry"),
}
_RISKS = {"low": "idle", "medium": "ask", "high": "deny", "critical": "deny"}


def _badge(tone: str, name: str, word: str) -> SafeString:
    shown = text.visible(word)
    return format_html('<span class="badge tone-{}">{}{}</span>', tone, icon(name), shown)


def decision(word: str) -> SafeString:
    """ALLOW, ASK, ESCALATE or DENY. Anything else is shown as it is, without colour."""
    tone, name = _DECISIONS.get(word, ("idle", "unknown"))
    return _badge(tone, name, word)


def state(word: str) -> SafeString:
    """The state of a run, a task or an approval."""
    tone, name = _STATES.get(word, ("idle", "unknown"))
    return _badge(tone, name, word)


def risk(word: str) -> SafeString:
    """How much could go wrong, as the gate judged it."""
    return _badge(_RISKS.get(word, "idle"), "shield", f"{word} risk") if word else SafeString("")


def tone_of_decision(word: str) -> str:
    """The tone of a decision, for its row."""
    return _DECISIONS.get(word, ("idle", ""))[0]


def fit(ok: bool) -> SafeString:
    """Whether something passed."""
    return _badge("allow", "check", "ok") if ok else _badge("deny", "cross", "not ok")


_LEVELS = {"OK": ("allow", "check"), "WARN": ("ask", "warn"), "FAULT": ("deny", "cross")}


def level(word: str) -> SafeString:
    """How much a finding about the machine matters: OK, WARN or FAULT."""
    tone, name = _LEVELS.get(word, ("idle", "unknown"))
    return _badge(tone, name, word)
