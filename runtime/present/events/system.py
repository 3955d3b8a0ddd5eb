"""What belongs to no run: people, workspaces, rules, machines."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime.present import html, text, units

from .view import Facts, Renderer, View


def _person(facts: Facts) -> View:
    roles = ", ".join(text.plain(str(role)) for role in facts.items("roles"))
    name = text.visible(facts.text("name"))
    return View(format_html("<strong>{}</strong> got the roles {}", name, roles), "person", "plain")


def _link(facts: Facts) -> View:
    title = format_html(
        "a sign-in link was made for <strong>{}</strong>", text.visible(facts.text("name"))
    )
    return View(title, "person", "idle")


_WAYS = {"link": "by a link", "password": "by password"}


def _way(facts: Facts) -> SafeString:
    return text.visible(_WAYS.get(facts.text("by"), facts.text("by")))


def _signed_in(facts: Facts) -> View:
    name = text.visible(facts.text("name"))
    title = format_html("<strong>{}</strong> signed in {}", name, _way(facts))
    return View(title, "person", "idle")


def _signed_out(facts: Facts) -> View:
    title = format_html("<strong>{}</strong> signed out", text.visible(facts.text("name")))
    return View(title, "person", "idle")


def _password_set(facts: Facts) -> View:
    title = format_html("<strong>{}</strong> chose a password", text.visible(facts.text("name")))
    return View(title, "person", "plain")


def _refused(facts: Facts) -> View:
    name = facts.text("name")
    who = format_html("<strong>{}</strong>", text.visible(name)) if name else "somebody unknown"
    title = format_html("{} was not let in {}", who, _way(facts))
    if unsaid := facts.number("unsaid"):
        title = format_html("{}, and {} more before", title, unsaid)
    return View(title, "warn", "deny")


def _workspace(facts: Facts) -> View:
    title = format_html(
        "workspace <strong>{}</strong> was registered: {}",
        text.visible(facts.text("name")),
        html.code(facts.text("root")),
    )
    return View(title, "folder", "plain")


def _policy(facts: Facts) -> View:
    files = [str(one[0]) for one in facts.items("files") if isinstance(one, list) and one]
    named = ", ".join(text.plain(name) for name in files[:8]) or "no file"
    title = format_html(
        "the policy changed to {}: {} rules in {}",
        html.code(facts.text("hash")[:12]),
        text.visible(facts.text("rules")),
        named,
    )
    return View(title, "shield", "plain")


def _anchor(facts: Facts) -> View:
    heads = facts.items("heads")
    what = units.count(len(heads), "chain") if heads else "many chains"
    title = format_html("an anchor vouches for where {} stood", what)
    return View(title, "seal", "idle", "quiet")


def _unconfined(facts: Facts) -> View:
    title = format_html(
        "no command can be confined on <strong>{}</strong>, so none is run there: {}",
        text.visible(facts.text("host")),
        text.visible(facts.text("detail")),
    )
    return View(title, "warn", "deny", body=html.prose(facts.text("remedy")))


def _confined(facts: Facts) -> View:
    title = format_html(
        "commands can be confined again on <strong>{}</strong>: {}",
        text.visible(facts.text("host")),
        text.visible(facts.text("detail")),
    )
    return View(title, "shield", "allow")


RENDERERS: dict[str, Renderer] = {
    "anchor.made": _anchor,
    "policy.loaded": _policy,
    "person.added": _person,
    "person.signed_in": _signed_in,
    "person.signed_out": _signed_out,
    "person.password_set": _password_set,
    "sandbox.available": _confined,
    "sandbox.unavailable": _unconfined,
    "sign_in.refused": _refused,
    "link.made": _link,
    "workspace.registered": _workspace,
}
