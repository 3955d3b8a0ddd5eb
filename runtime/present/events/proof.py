"""`verification.*`, `checkpoint.*`, `finish.*` and `delivery.*`: claims against proof."""

from __future__ import annotations

import shlex
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from runtime.present import badges, html, text, units

from .view import Facts, Renderer, View

NAMED = 20
"""Files that a mark names at once."""


def _commands(facts: Facts) -> SafeString:
    """The commands of a verification, each with its exit status and output."""
    items = facts.items("commands")
    return html.join(_command(facts, item) for item in items if isinstance(item, dict))


def _command(facts: Facts, item: dict[str, Any]) -> SafeString:
    argv = item.get("argv")
    shown = shlex.join(str(word) for word in argv) if isinstance(argv, list) else str(argv or "")
    status = item.get("status")
    took = item.get("duration_ms")
    summary = format_html(
        "{} <code>{}</code> <span class='quiet'>exit {} {}</span>",
        badges.fit(status == 0),
        text.short(shown),
        "–" if status is None else status,
        units.duration(took) if isinstance(took, int) else "",
    )
    output, size = item.get("output"), item.get("output_size")
    if not html.is_digest(output) or not isinstance(size, int):
        return format_html('<p class="command">{}</p>', summary)
    return html.fold(summary, facts.artifact(output, size, "Output of the command"))


def _left_out(facts: Facts) -> SafeString:
    paths = [text.plain(str(path)) for path in facts.items("left_out")]
    if not paths:
        return html.EMPTY
    note = f"Left out of tree and delivery: {', '.join(paths[:20])}"
    if len(paths) > 20:
        note += f" and {len(paths) - 20} more"
    return format_html('<p class="note">{}</p>', note)


def _verified(ok: bool) -> Renderer:
    def render(facts: Facts) -> View:
        words = "Verification passed" if ok else "Verification did not pass"
        title = format_html(
            "<strong>{}</strong> <span class='quiet'>tree {}</span>",
            words,
            html.code(facts.text("tree")[:10]),
        )
        listed = facts.block("commands", "Commands") if facts.stored("commands") else html.EMPTY
        reason = html.prose(facts.text("reason")) or (
            facts.block("reason", "Why") if facts.stored("reason") else html.EMPTY
        )
        body = html.join([reason, _commands(facts), listed, _left_out(facts)])
        icon, tone = ("seal", "allow") if ok else ("cross", "deny")
        return View(title, icon, tone, "loud", body)

    return render


def _marked(said: str) -> Renderer:
    """A mark of the run, with the files that it is about."""

    def render(facts: Facts) -> View:
        paths = facts.items("paths")
        some = [html.code(str(path), 120) for path in paths[:NAMED]]
        if len(paths) > NAMED:
            some.append(format_html("and {} more", len(paths) - NAMED))
        named = format_html_join(", ", "{}", ((one,) for one in some))
        title = format_html("<strong>{}</strong> {}", said, named)
        body = facts.block("paths", "Files") if facts.stored("paths") else html.EMPTY
        return View(title, "warn", "ask", "loud", body)

    return render


def _checkpoint(facts: Facts) -> View:
    files = facts.items("files")
    title = format_html(
        "checkpoint {} ({})",
        html.code(facts.text("tree")[:10]),
        units.count(len(files), "changed file") if files else "tree recorded",
    )
    return View(title, "dot", "idle", "quiet")


def _restored(facts: Facts) -> View:
    left = facts.table("left") or {}
    digest = left.get("sha256") or left.get("artifact")
    link = html.EMPTY
    if html.is_digest(digest):
        link = format_html(
            ' <a href="/artifacts/{}/?run={}&amp;view=1">what was there instead</a>',
            digest,
            facts.row.run,
        )
    title = format_html(
        "the files are those of the last checkpoint {} again{}",
        html.code(facts.text("commit")[:10]),
        link,
    )
    return View(title, "retry", "ask", "plain")


def _finish_refused(facts: Facts) -> View:
    why = " (verification debt is open)" if facts.flag("debt") else ""
    title = format_html("<strong>Finish refused</strong>{}", why)
    return View(title, "cross", "ask", "loud", html.prose(facts.text("reason")))


def _delivered(facts: Facts) -> View:
    title = format_html(
        "<strong>Delivered</strong> as commit {} on {}",
        html.code(facts.text("commit")[:10]),
        html.code(facts.text("branch"), 80),
    )
    links = [
        format_html('<a href="/artifacts/{}/?run={}">{}</a>', facts.text(name), facts.row.run, name)
        for name in ("patch", "report")
        if html.is_digest(facts.text(name))
    ]
    line = format_html(
        '<p>{} <span class="plus">+{}</span> <span class="minus">−{}</span> {}</p>',
        units.count(facts.number("files"), "file"),
        facts.number("insertions"),
        facts.number("deletions"),
        html.join([format_html(" {}", link) for link in links]),
    )
    return View(title, "box", "allow", "loud", line)


RENDERERS: dict[str, Renderer] = {
    "verification.passed": _verified(ok=True),
    "verification.failed": _verified(ok=False),
    "verification.inputs_changed": _marked("What the verification runs has been changed:"),
    "guarded_files.changed": _marked(
        "A command has changed files that other programs obey, or that may hold secrets:"
    ),
    "checkpoint.created": _checkpoint,
    "worktree.restored": _restored,
    "finish.refused": _finish_refused,
    "delivery.completed": _delivered,
}
