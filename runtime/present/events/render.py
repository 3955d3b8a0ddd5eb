"""From an event to its row: the view model, then the fragment."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from runtime import blobs
from runtime.core.errors import BadInput
from runtime.journal.rows import EventRow
from runtime.present import html, text, units
from runtime.present.icons import icon

from . import action, approval, job, message, policy, proof, run, system, task
from .view import Facts, Head, Renderer, View

RENDERERS: dict[str, Renderer] = {
    **run.RENDERERS,
    **task.RENDERERS,
    **message.RENDERERS,
    **action.RENDERERS,
    **job.RENDERERS,
    **policy.RENDERERS,
    **approval.RENDERERS,
    **proof.RENDERERS,
    **system.RENDERERS,
}
HEAD_BYTES = 512 << 10
"""Artifacts up to this size are opened for their head; larger ones are only linked."""
HEAD_CHARACTERS = 1500


def stored_head(digest: str, size: int) -> str | None:
    """The first characters of an artifact; None where it is large, gone or damaged."""
    if size > HEAD_BYTES:
        return None
    try:
        data = blobs.get(digest)
    except (blobs.BlobMissing, blobs.BlobDamaged, BadInput):
        return None
    head = data.decode("utf-8", "replace")[:HEAD_CHARACTERS]
    return head.rsplit("\n", 1)[0] if len(data) > HEAD_CHARACTERS and "\n" in head else head


def row(event: EventRow, *, head: Head = stored_head) -> dict[str, Any]:
    """The view model of an event: what its fragment and the audit are made of."""
    renderer = RENDERERS.get(event.type, _unknown)
    if event.payload.keys() == {"unreadable"}:
        renderer = _damaged
    view = renderer(Facts(event, head))
    return {
        "seq": event.seq,
        "run": event.run,
        "type": event.type,
        "at": event.at,
        "clock": units.clock(event.at),
        "actor": actor(event.actor),
        "task": event.task,
        "attempt": event.attempt,
        "title": view.title,
        "icon": icon(view.icon),
        "tone": view.tone,
        "weight": view.weight,
        "body": view.body,
        "message": view.message,
        "hash": event.hash,
    }


def render(event: EventRow, *, head: Head = stored_head) -> str:
    """One row of the timeline as HTML."""
    return fragment(row(event, head=head))


def render_all(events: Iterable[EventRow]) -> SafeString:
    """Rows of the timeline, in order."""
    return mark_safe("".join(render(event) for event in events))  # fragments


def fragment(view: dict[str, Any]) -> SafeString:
    """The fragment of a view model."""
    message_id = text.plain(view["message"])
    said = format_html(' data-message="{}"', message_id) if message_id else html.EMPTY
    body = format_html('<div class="body">{}</div>', view["body"]) if view["body"] else html.EMPTY
    return format_html(
        '<li id="e{}" class="event {} tone-{}" data-seq="{}" data-type="{}"{}>'
        '<span class="when">{}</span><span class="mark">{}</span>'
        '<div class="what"><p class="title">{}</p>{}</div></li>',
        view["seq"],
        view["weight"],
        view["tone"],
        view["seq"],
        view["type"],
        said,
        view["clock"],
        view["icon"],
        view["title"],
        body,
    )


def actor(name: str) -> SafeString:
    """Who did it: a person by name, machinery by what it is."""
    return text.visible(name.removeprefix("user:"))


def _unknown(facts: Facts) -> View:
    payload = json.dumps(dict(facts.payload), ensure_ascii=False, indent=1, default=str)
    return View(
        format_html("<code>{}</code>", text.visible(facts.row.type)),
        icon="unknown",
        body=html.fold("What it holds", html.pre(payload, "Payload")),
    )


def _damaged(facts: Facts) -> View:
    """A payload that somebody changed behind the runtime's back; the chain check names it."""
    title = format_html(
        "<strong>This record cannot be read</strong>: it was changed. Check the chain. <code>{}</code>",
        text.visible(facts.row.type),
    )
    held = html.pre(facts.text("unreadable"), "What it holds")
    return View(title, "warn", "deny", "loud", html.fold("What it holds", held))
