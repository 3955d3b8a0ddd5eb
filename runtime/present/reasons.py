"""Typed reasons as sentences. A reason that is not known here is shown as its word."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from . import html, text

_SENTENCES = {
    "step_limit": "the step limit was reached.",
    "budget_exhausted": "a budget is used up.",
    "budget_denied": "a person did not let it use more.",
    "loop_detected": "the model went round in a circle.",
    "approvals_expired": "the same question waited in vain several times.",
    "attempts_exhausted": "the worker died too often while it ran.",
    "invalid_answers": "the model gave no valid action several times in a row.",
    "unavailable": "something that is needed to run safely is missing.",
    "bad_settings": "a setting cannot be used.",
    "runtime_error": "the runtime itself made a mistake.",
    "disk_full": "the server’s disk is full.",
    "provider_auth": "the model server refused the key.",
    "provider_rate_limit": "the model server’s limit was reached.",
    "provider_timeout": "the model did not answer in time.",
    "provider_overload": "the model server failed or had too much to do.",
    "provider_context_length": "the prompt was longer than the model takes.",
    "provider_refusal": "the model refused to answer.",
    "provider_malformed": "the model server sent what is no answer.",
    "provider_cut": "the model’s answer broke off.",
    "provider_unreachable": "the model could not be reached.",
    "provider_exhausted": "the script has no further line.",
    "provider_size": "the model’s answer was larger than allowed.",
    "provider_bad_request": "the model server rejected the request.",
}
_CHECK_SERVER = "Check the model’s server, then retry."
_NEXT = {
    "step_limit": "Submit it again with more steps, or narrow the objective.",
    "budget_exhausted": "Grant more below, then retry; or narrow the objective.",
    "budget_denied": "Retry when it may use more; what it changed is kept.",
    "loop_detected": "Retry with another model, or say in the objective what it kept missing.",
    "approvals_expired": "Retry when somebody is there to answer; it is asked about again.",
    "attempts_exhausted": "See the system page for the machine’s state, then retry.",
    "unavailable": "Mend what the detail names, then retry.",
    "bad_settings": "Correct what the detail names, then retry.",
    "disk_full": "Make room on the server’s disk, then retry; what was done is kept.",
    "runtime_error": "Read the server’s log; a retry goes on from the last checkpoint.",
    "provider_auth": "Check the model’s key (`m31a doctor` tries it), then retry.",
    "provider_rate_limit": "Wait until the limit is over, then retry.",
    "provider_timeout": _CHECK_SERVER,
    "provider_overload": _CHECK_SERVER,
    "provider_context_length": "Lower M31A_CONTEXT_TOKENS, or allow retries for the workspace, then retry.",
    "provider_malformed": _CHECK_SERVER,
    "provider_cut": _CHECK_SERVER,
    "provider_unreachable": "Check the model’s address on the system page, then retry.",
    "provider_exhausted": "Give the script a `finish`, and submit again.",
    "provider_bad_request": "Check the model’s name and its settings (`m31a doctor`), then retry.",
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
