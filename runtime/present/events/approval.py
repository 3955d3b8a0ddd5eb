"""`approval.*` and `grant.*`: who was asked, and what they said."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime.core import ids
from runtime.present import actions, badges, html, text

from .view import Facts, Renderer, View

SCOPES = {
    "once": "this once",
    "task": "for the rest of the task",
    "run": "for the rest of the run",
}


def scope(word: str) -> str:
    """How far an answer reaches, in words."""
    if word.startswith("workspace:"):
        return f"in the workspace until {text.plain(word.removeprefix('workspace:'))}"
    return SCOPES.get(word, text.plain(word))


def _link(facts: Facts) -> SafeString:
    identifier = facts.text("approval")
    if not ids.is_id(identifier):
        return text.visible(identifier)
    return format_html('<a href="/approvals/{}/">the card</a>', identifier)


def _requested(facts: Facts) -> View:
    card = facts.table("card") or {}
    action = card.get("action")
    body = action if isinstance(action, dict) else None
    kind = facts.text("kind")
    if kind == "ask_human":
        title = format_html("<strong>The model asks a person</strong> ({})", _link(facts))
        question = str((body or {}).get("question") or "")
        return View(title, "person", "ask", "loud", html.prose(question))
    if kind == "budget":
        title = format_html("<strong>A budget nears its end</strong> ({})", _link(facts))
        return View(title, "person", "ask", "loud", html.prose(str(card.get("question") or "")))
    title = format_html(
        "{} <strong>A person is asked</strong>: may it {}? ({})",
        badges.decision(facts.text("decision")),
        actions.sentence(kind, body),
        _link(facts),
    )
    tone = badges.tone_of_decision(facts.text("decision"))
    return View(title, "person", tone, "loud", html.prose(facts.text("reason")))


def _approved(facts: Facts) -> View:
    title = format_html(
        "<strong>{}</strong> approved {} ({})",
        text.visible(facts.person or facts.row.actor),
        scope(facts.text("scope")),
        _link(facts),
    )
    return View(title, "check", "allow", "loud", html.prose(facts.text("comment")))


def _denied(facts: Facts) -> View:
    who = text.visible(facts.person or facts.row.actor)
    title = format_html("<strong>{}</strong> denied it ({})", who, _link(facts))
    return View(title, "cross", "deny", "loud", html.prose(facts.text("comment")))


def _expired(facts: Facts) -> View:
    title = format_html(
        "Nobody answered in time ({}). That is not a denial: the model may ask again.",
        _link(facts),
    )
    return View(title, "clock", "idle", "loud")


def _reminded(facts: Facts) -> View:
    last = facts.number("nth") == 2
    title = format_html(
        "<strong>Still waits for an answer</strong> since {} ({}): {}, it expires {}",
        _minute(facts.text("requested_at")),
        _link(facts),
        "a tenth of its time is left" if last else "half of its time is over",
        _minute(facts.text("expires_at")),
    )
    return View(title, "clock", "deny" if last else "ask", "loud", _answerers(facts))


def _answerers(facts: Facts) -> SafeString:
    names = [str(name) for name in facts.items("may_answer")]
    if facts.number("more"):
        names.append(f"{facts.number('more')} more")
    if names:
        return html.prose(f"May answer: {', '.join(names)}.")
    if facts.stored("may_answer"):
        return html.EMPTY
    role = "security" if facts.text("decision") == "ESCALATE" else "reviewer"
    helps = f"Nobody here may answer it. `m31a user add NAME --role {role}` adds somebody."
    return format_html("<p>{}</p>", text.marked(helps))


def _minute(stamp: str) -> str:
    return f"{stamp[:16].replace('T', ' ')} UTC"


def _void(words: str) -> Renderer:
    def render(facts: Facts) -> View:
        title = format_html(
            "{} ({}): {}", words, _link(facts), text.short(facts.text("reason").replace("_", " "))
        )
        return View(title, "stop", "idle", "plain")

    return render


def _consumed(facts: Facts) -> View:
    return View(format_html("the approval was used ({})", _link(facts)), "check", "idle", "quiet")


def _granted(facts: Facts) -> View:
    until = facts.text("expires_at")
    title = format_html(
        "The answer is remembered for the {} {}{}",
        text.visible(facts.text("scope")),
        html.code(facts.text("subject"), 64),
        f" until {_minute(until)}" if until else "",
    )
    return View(title, "seal", "allow", "plain")


def _revoked(facts: Facts) -> View:
    title = format_html("A remembered answer was revoked {}", html.code(facts.text("grant"), 26))
    return View(title, "cross", "idle", "plain")


RENDERERS: dict[str, Renderer] = {
    "approval.requested": _requested,
    "approval.approved": _approved,
    "approval.denied": _denied,
    "approval.expired": _expired,
    "approval.cancelled": _void("The question fell with the run"),
    "approval.superseded": _void("The question is void"),
    "approval.consumed": _consumed,
    "approval.reminded": _reminded,
    "grant.created": _granted,
    "grant.revoked": _revoked,
}
