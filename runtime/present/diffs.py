"""Unified diffs as tables: syntax colours, line numbers, changed words, bounded.

The text comes from a model or a repository: it is parsed and escaped on the server.
"""

from __future__ import annotations

import difflib
import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from pygments.lexer import Lexer
from pygments.token import STANDARD_TYPES, Token
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from runtime.core.digests import sha256

from . import html, text, units

MAX_FILES = 300
MAX_BYTES = 1 << 20
"""Characters of a diff that are read."""
MAX_LINES = 2000
MAX_LINE = 2000
"""Characters of one line that are shown."""
MAX_COLOURED = 200_000
"""Characters that get syntax colours; what follows is shown plain."""
MAX_PAIRS, MAX_PAIRS_OF_LINE = 400_000, 20_000
"""Pairs of words that are compared in a diff, and in one line."""
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_NEW_MODE = re.compile(r"^new (file )?mode 100(\d{3})$", re.MULTILINE)
_MARKS = {"+": "add", "-": "del", " ": "same", "\\": "note"}

Span = tuple[int, int]


@dataclass
class _Options:
    numbers: bool
    blanks: bool
    anchors: bool = False
    left: int = MAX_LINES
    colours: int = MAX_COLOURED
    pairs: int = MAX_PAIRS


@dataclass
class _Line:
    kind: str
    text: str
    old: int | None
    new: int | None
    changed: list[Span] = field(default_factory=list)
    tokens: list[tuple[str, str]] = field(default_factory=list)


def render(
    diff: str, *, numbers: bool = True, blanks: bool = False, anchors: bool = False
) -> SafeString:
    """A diff as HTML, at most `MAX_FILES` files and `MAX_LINES` lines; what is left out is counted.

    The work is bounded whatever the text is: it comes from a model. `blanks` shows spaces and
    tabs as marks; `anchors` makes each file a target of links, for one diff a page. A text that is
    no diff is shown as it is.
    """
    if len(diff) > MAX_BYTES:
        return _head(diff)
    try:
        files = _parse(diff)
    except UnidiffParseError:
        return html.pre(diff, "Diff")
    if not files:
        return html.pre(diff, "Diff") if diff.strip() else html.EMPTY
    options = _Options(numbers=numbers, blanks=blanks, anchors=anchors)
    shown = [_file(item, options) for item in files[:MAX_FILES]]
    if len(files) > MAX_FILES:
        more = units.count(len(files) - MAX_FILES, "more file")
        shown.append(format_html('<p class="cut">{} not shown.</p>', more))
    return html.join(shown)


def _head(diff: str) -> SafeString:
    """The beginning of a diff that is too long to be read into tables."""
    head, missing = text.cut(diff, MAX_BYTES // 8)
    note = f"{missing:,} more characters not shown; the whole diff is an artifact."
    return html.join([html.pre(head, "Diff"), format_html('<p class="cut">{}</p>', note)])


def counts(diff: str) -> tuple[int, int, int]:
    """Files, added and removed lines of a diff. Zeros where it cannot be read, or is too long."""
    if len(diff) > MAX_BYTES:
        return 0, 0, 0
    try:
        files = _parse(diff)
    except UnidiffParseError:
        return 0, 0, 0
    return len(files), files.added, files.removed


def _parse(diff: str) -> PatchSet:
    """Lines end with a line feed only: other separators are content."""
    return PatchSet(io.StringIO(diff, newline="\n"))


def anchor(path: str) -> str:
    """The name by which links on a page reach a file of its diff."""
    return f"file-{sha256(path.encode('utf-8', 'surrogateescape'))[:12]}"


def _file(item: PatchedFile, options: _Options) -> SafeString:
    name = format_html("<code>{}</code>", text.visible(item.path))
    if item.is_rename:
        source = text.visible(item.source_file.removeprefix("a/"))
        name = format_html("<code>{}</code> → {}", source, name)
    kind = "new file" if item.is_added_file else "removed" if item.is_removed_file else ""
    kind = ", ".join(word for word in (kind, _mode(item)) if word)
    body: SafeString
    if item.is_binary_file:
        body = format_html('<p class="cut">{}</p>', "Binary file; not shown.")
    else:
        body = _table(item, options)
    return format_html(
        '<details class="file" open{}><summary>{}<span class="quiet">{}</span>'
        '<span class="plus">+{}</span> <span class="minus">−{}</span></summary>{}</details>',
        format_html(' id="{}"', anchor(item.path)) if options.anchors else html.EMPTY,
        name,
        f" {kind} " if kind else " ",
        item.added,
        item.removed,
        body,
    )


def _mode(item: PatchedFile) -> str:
    """What a patch says of the right to execute the file."""
    found = _NEW_MODE.search(str(item.patch_info or ""))
    if found is None or (item.is_added_file and found[2] != "755"):
        return ""
    return "can be executed" if found[2] == "755" else "can no longer be executed"


def _table(item: PatchedFile, options: _Options) -> SafeString:
    lexer = html.lexer_for(item.path)
    rows: list[str] = []
    missing = 0
    for hunk in item:
        if options.left <= 0:
            missing += len(hunk)
            continue
        lines = _lines(hunk)
        missing += max(0, len(lines) - options.left)
        lines = lines[: options.left]
        options.left -= len(lines)
        size = sum(len(line.text[:MAX_LINE]) for line in lines)
        options.colours -= size
        if options.colours >= 0:
            _colour(lines, lexer)
        _compare(lines, options)
        rows.append(_heading(hunk, options))
        rows += (_row(line, options) for line in lines)
    if missing:
        note = f"{units.count(missing, 'more line')} not shown; the whole diff is an artifact."
        rows.append(f'<tr class="note"><td colspan="4">{escape(note)}</td></tr>')
    return format_html(
        '<div class="scroll" tabindex="0" role="group" aria-label="Changes of {}">'
        '<table class="diff"><tbody>{}</tbody></table></div>',
        text.plain(item.path),
        mark_safe("".join(rows)),  # rows are escaped below
    )


def _lines(hunk: Hunk) -> list[_Line]:
    """The lines with hidden characters as marks: a lexer would swallow some of them."""
    return [
        _Line(
            _MARKS.get(line.line_type, "note"),
            text.plain(line.value.removesuffix("\n")),
            line.source_line_no,
            line.target_line_no,
        )
        for line in hunk
    ]


def _heading(hunk: Hunk, options: _Options) -> str:
    if not options.numbers:
        return ""
    place = f"lines {hunk.target_start}–{hunk.target_start + max(0, hunk.target_length - 1)}"
    where = text.visible(hunk.section_header)
    return f'<tr class="hunk"><td colspan="4">{place} <code>{where}</code></td></tr>'


def _colour(lines: list[_Line], lexer: Lexer) -> None:
    """Give every line its tokens. Old and new side are read each as one text."""
    for kinds in (("same", "add"), ("del",)):
        side = [line for line in lines if line.kind in kinds]
        source = "\n".join(line.text[:MAX_LINE] for line in side)
        for line, tokens in zip(side, _split(lexer, source), strict=False):
            if "".join(value for _, value in tokens) == line.text[:MAX_LINE]:
                line.tokens = tokens  # some lexers lose characters: then there are no colours


def _split(lexer: Lexer, source: str) -> Iterator[list[tuple[str, str]]]:
    """The tokens of a text, line by line: CSS class and characters."""
    current: list[tuple[str, str]] = []
    for kind, value in lexer.get_tokens(source):
        first, *more = value.split("\n")
        if first:
            current.append((_css(kind), first))
        for part in more:
            yield current
            current = [(_css(kind), part)] if part else []
    yield current


def _css(kind: object) -> str:
    while kind not in STANDARD_TYPES and kind is not Token:
        kind = getattr(kind, "parent", Token)
    return STANDARD_TYPES.get(kind, "")  # type: ignore[call-overload,no-any-return]


def _compare(lines: list[_Line], options: _Options) -> None:
    """Mark the words that differ between removed lines and the added ones that replace them."""
    at = 0
    while at < len(lines):
        removed = _block(lines, at, "del")
        added = _block(lines, at + len(removed), "add")
        if removed and len(removed) == len(added):
            for old, new in zip(removed, added, strict=True):
                old.changed, new.changed = _words(old.text, new.text, options)
        at += max(1, len(removed) + len(added))


def _block(lines: list[_Line], start: int, kind: str) -> list[_Line]:
    end = start
    while end < len(lines) and lines[end].kind == kind:
        end += 1
    return lines[start:end]


def _words(old: str, new: str, options: _Options) -> tuple[list[Span], list[Span]]:
    if len(old) > 500 or len(new) > 500:
        return [], []
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    pairs = len(before) * len(after)
    if pairs > min(MAX_PAIRS_OF_LINE, options.pairs):
        return [], []
    options.pairs -= pairs
    match = difflib.SequenceMatcher(None, before, after, autojunk=False)
    if match.ratio() < 0.4:
        return [], []
    places = (_places(before), _places(after))
    spans: tuple[list[Span], list[Span]] = ([], [])
    for operation, a1, a2, b1, b2 in match.get_opcodes():
        if operation != "equal":
            for found, (first, last), side in (
                (spans[0], (a1, a2), places[0]),
                (spans[1], (b1, b2), places[1]),
            ):
                if last > first:
                    found.append((side[first], side[last]))
    return spans


def _places(words: list[str]) -> list[int]:
    places = [0]
    for word in words:
        places.append(places[-1] + len(word))
    return places


def _row(line: _Line, options: _Options) -> str:
    mark = {"add": "+", "del": "−"}.get(line.kind, "")
    body = _body(line, options)
    if len(line.text) > MAX_LINE:
        body += f'<span class="more">… {len(line.text) - MAX_LINE:,} more characters</span>'
    numbers = ""
    if options.numbers:
        numbers = f'<td class="n">{line.old or ""}</td><td class="n">{line.new or ""}</td>'
    return (
        f'<tr class="{line.kind}">{numbers}<td class="m">{mark}</td><td class="l">{body}</td></tr>'
    )


def _body(line: _Line, options: _Options) -> str:
    tokens = line.tokens or [("", line.text[:MAX_LINE])]
    parts: list[str] = []
    at = 0
    for css, value in tokens:
        for piece, changed in _pieces(value, at, line.changed):
            if options.blanks:
                piece = piece.replace(" ", "·").replace("\t", "→\t")
            shown = text.visible(piece)
            name = " ".join(
                word for word in (f"t-{css}" if css else "", "w" if changed else "") if word
            )
            parts.append(f'<span class="{name}">{shown}</span>' if name else shown)
        at += len(value)
    return "".join(parts)


def _pieces(value: str, at: int, changed: list[Span]) -> Iterator[tuple[str, bool]]:
    """A token cut at the borders of the changed spans."""
    edges = sorted(
        {at, at + len(value), *(e for span in changed for e in span if at < e < at + len(value))}
    )
    for first, last in itertools.pairwise(edges):
        inside = any(a <= first and last <= b for a, b in changed)
        yield value[first - at : last - at], inside
