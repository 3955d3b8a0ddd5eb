"""Typed reasons as sentences. A reason that is not known here is shown as its word."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from . import html, text

_SENTENCES = {
    "step_limit": "the step limit was reached.",
    "provider_unreachable": "the model could not be reached.",
    "attempts_exhausted": "the worker died too often while it ran.",
    "loop_detected": "the model repeated the same action.",
    "invalid_answers": "the model gave no valid action several times in a row.",
    "script_exhausted": "the script has no further line.",
    "approvals_expired": "the same question expired too often.",
    "verification_failed": "the verification of the delivered tree did not pass.",
    "interrupted": "it was interrupted.",
}
_NEXT = {
    "step_limit": "Retry with more steps, or narrow the objective.",
    "provider_unreachable": "Check the model’s address on the system page, then retry.",
    "attempts_exhausted": "See the system page for the machine’s state, then retry.",
    "script_exhausted": "Give the script a `finish`, and submit again.",
    "verification_failed": "Read the evidence, then retry.",
}


def sentence(reason: str) -> SafeString:
    """What the reason means, with its word in code."""
    if not reason:
        return html.fixed("no reason was recorded.")
    known = _SENTENCES.get(reason)
    word = format_html("<code>{}</code>", text.visible(reason))
    return format_html("{} {}", known, word) if known else word


def next_step(reason: str) -> str:
    """What a person can do about it."""
    return _NEXT.get(reason, "")
