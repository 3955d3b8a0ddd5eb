"""Blocks from which rows and cards are built. Every text goes through `visible`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeGuard

import pygments
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

from . import ansi, text, units

OPEN_LINES = 12
"""Lines up to which a block is shown unfolded."""
HEAD_LINES, TAIL_LINES = 20, 6
"""Lines of a long text that stay in sight above and below its fold."""
MOST_LINES = HEAD_LINES + TAIL_LINES + 4
"""Lines from which on a text is folded."""
EMPTY = SafeString("")


_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_digest(value: object) -> TypeGuard[str]:
    """Whether a value from a record is a SHA-256, fit for an address."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def join(parts: Iterable[SafeString]) -> SafeString:
    """Fragments one after the other."""
    return mark_safe("".join(parts))  # safe parts


def fixed(markup: str) -> SafeString:
    """A fragment that is written out in the product's own source."""
    return mark_safe(markup)


def code(value: str, characters: int = 160) -> SafeString:
    """A value that a machine reads, in one line."""
    return format_html("<code>{}</code>", text.short(value, characters))


def short_id(identifier: str, what: str = "id") -> SafeString:
    """The end of a long identifier, the whole one on hover and in the clipboard."""
    shown = identifier[-6:] if len(identifier) == 26 else identifier[:10]
    if len(identifier) <= 10:
        shown = identifier
    return format_html(
        '<button type="button" class="id" data-copy="{}" title="Copy {} {}">{}</button>',
        text.plain(identifier),
        what,
        text.plain(identifier),
        text.visible(shown),
    )


def facts(pairs: Iterable[tuple[str, SafeString | str]]) -> SafeString:
    """A list of names and values; empty values are left out."""
    rows = [(name, value) for name, value in pairs if value != ""]
    if not rows:
        return EMPTY
    return format_html(
        '<dl class="facts">{}</dl>',
        format_html_join("", "<div><dt>{}</dt><dd>{}</dd></div>", rows),
    )


def prose(value: str) -> SafeString:
    """What a model or a person wrote: text with its own line breaks."""
    return format_html('<p class="prose">{}</p>', text.visible(value)) if value else EMPTY


def pre(value: str, label: str, *, colours: bool = False) -> SafeString:
    """A text in full. A long one keeps head and tail in sight and says how much lies between."""
    lines, label = value.removesuffix("\n").split("\n"), text.plain(label)
    show = ansi.render if colours else text.visible
    if text.lines(value) <= MOST_LINES:
        return format_html('<pre class="text" aria-label="{}">{}</pre>', label, show(value))
    middle = lines[HEAD_LINES:-TAIL_LINES]
    return format_html(
        '<div class="long" aria-label="{}"><pre class="text">{}</pre>'
        '<details class="rest"><summary>{} more lines</summary><pre class="text">{}</pre></details>'
        '<pre class="text">{}</pre></div>',
        label,
        show("\n".join(lines[:HEAD_LINES])),
        f"{len(middle):,}",
        show("\n".join(middle)),
        show("\n".join(lines[-TAIL_LINES:])),
    )


def fold(summary: SafeString | str, body: SafeString, *, opened: bool = False) -> SafeString:
    """A block that the reader opens."""
    attribute = mark_safe(" open") if opened else EMPTY
    return format_html(
        '<details class="fold"{}><summary>{}</summary>{}</details>', attribute, summary, body
    )


def output(value: str, label: str = "Output", *, cut: int = 0) -> SafeString:
    """What a command or a tool answered: folded when long, with what was cut away named."""
    if not value and not cut:
        return EMPTY
    lines = text.lines(value)
    body = pre(value, label, colours=True)
    if cut:
        body = join([body, format_html('<p class="cut">{} more were cut.</p>', units.size(cut))])
    size = f"{units.count(lines, 'line')}, {units.size(len(value.encode('utf-8', 'replace')))}"
    summary = format_html('{} <span class="quiet">{}</span>', label, size)
    return fold(summary, body, opened=lines <= OPEN_LINES and len(value) <= 1200)


def stored(
    digest: str, size: int, run: str, label: str = "Output", head: str | None = None
) -> SafeString:
    """A text that lies in an artifact: where its bytes are at hand, its head; always the link."""
    link = format_html(
        '<a href="/artifacts/{}/?run={}&amp;view=1">Show all of it ({})</a>',
        digest,
        run,
        units.size(size),
    )
    if head is None:
        return format_html('<p class="stored">{}: {}</p>', label, link)
    rest = max(0, size - len(head.encode("utf-8", "replace")))
    body = format_html(
        '<pre class="text">{}</pre><p class="cut">{} more. {}</p>',
        ansi.render(head),
        units.size(rest),
        link,
    )
    summary = format_html('{} <span class="quiet">{}, head</span>', label, units.size(size))
    return fold(summary, body)


def lexer_for(path: str, sample: str = "") -> Lexer:
    """The lexer of a file's name; plain text where there is none."""
    try:
        found: Lexer = get_lexer_for_filename(path, sample[:200], stripnl=False, ensurenl=False)
    except (ClassNotFound, ValueError):
        found = get_lexer_by_name("text", stripnl=False, ensurenl=False)
    return found


_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True, classprefix="t-")


def coloured(value: str, path: str, label: str) -> SafeString:
    """Source text with syntax colours; without them, folded as `pre` does, what is long and what
    the lexer would not give back whole."""
    if text.lines(value) > MOST_LINES or len(value) > 20_000:
        return pre(value, label)
    shown = text.plain(value)
    tokens = list(lexer_for(path, value).get_tokens(shown))
    if "".join(part for _, part in tokens) != shown:
        return pre(value, label)
    html = pygments.format(iter(tokens), _FORMATTER)
    return format_html(
        '<pre class="text code" aria-label="{}">{}</pre>', text.plain(label), mark_safe(html)
    )
