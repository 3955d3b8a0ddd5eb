"""Text from models and tools, made safe to look at.

Whatever a person decides on must be what will run. So characters that cannot be seen, that
reorder their neighbours, or that push the end out of sight are shown as marks.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from runtime.core import hints

LONG_BLANK = 40
"""Blanks in a row behind other text, from which on their number is shown; thrice that in front."""

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but tab and newline
    "\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
    rf"|(?<=\S)[ \t]{{{LONG_BLANK},}}|[ \t]{{{3 * LONG_BLANK},}}"
)
_EMOJI_STYLE = "\ufe0f"


def _shown(found: re.Match[str]) -> str | None:
    """The mark for a hidden character or a long blank; None where it does no harm."""
    text = found.group()
    if len(text) > 1:
        return f"{len(text)} blanks"
    if text == _EMOJI_STYLE and _after_symbol(found):
        return None
    return f"U+{ord(text):04X}"


def _after_symbol(found: re.Match[str]) -> bool:
    at = found.start()
    return at > 0 and unicodedata.category(found.string[at - 1]) == "So"


@lru_cache(maxsize=256)
def _name(mark: str) -> str:
    if not mark.startswith("U+"):
        return mark
    code = int(mark[2:], 16)
    return unicodedata.name(chr(code), "") or _CONTROLS.get(code, "invisible character")


_CONTROLS = {0: "NULL", 8: "BACKSPACE", 13: "CARRIAGE RETURN", 27: "ESCAPE", 127: "DELETE"}


def plain(text: str) -> str:
    """The text with marks like `‹U+202E›` for what cannot be seen. Not yet escaped for HTML."""

    def mark(found: re.Match[str]) -> str:
        shown = _shown(found)
        return found.group() if shown is None else f"‹{shown}›"

    return _HIDDEN.sub(mark, text)


def visible(text: str) -> SafeString:
    """The text as HTML: escaped, and every hidden character a labelled mark."""
    parts: list[str] = []
    at = 0
    for found in _HIDDEN.finditer(text):
        shown = _shown(found)
        if shown is None:
            continue
        parts.append(escape(text[at : found.start()]))
        parts.append(f'<span class="hidden-char" title="{escape(_name(shown))}">‹{shown}›</span>')
        at = found.end()
    parts.append(escape(text[at:]))
    return mark_safe("".join(parts))  # every part is escaped above


def hidden(text: str) -> list[str]:
    """The kinds of marks in a text, each once, in order of appearance: for a warning."""
    kinds: dict[str, None] = {}
    for found in _HIDDEN.finditer(text):
        shown = _shown(found)
        if shown is not None:
            kinds[f"{shown} {_name(shown)}" if shown.startswith("U+") else shown] = None
    return list(kinds)


def cut(text: str, characters: int) -> tuple[str, int]:
    """At most so many characters of a text, and how many were left away."""
    if len(text) <= characters:
        return text, 0
    return text[:characters], len(text) - characters


def lines(text: str) -> int:
    """How many lines a text has: an end of line closes one, it does not begin another."""
    return text.count("\n") + (not text.endswith("\n") if text else 0)


def short(text: str, characters: int = 160) -> SafeString:
    """One line of at most so many characters; what is missing is counted, never silent."""
    line = " ".join(text.split("\n"))
    head, missing = cut(line, characters)
    if not missing:
        return visible(head)
    return mark_safe(  # visible() escapes; the rest is a number
        f'{visible(head)}<span class="more">… {missing:,} more characters</span>'
    )


_CODE = re.compile(r"`([^`\n]{1,300})`")


def marked(sentence: str) -> SafeString:
    """A message of the product, with what stands between backticks as code, commands as typed."""
    pieces = _CODE.split(hints.typed(sentence))
    shown = (
        f"<code>{visible(piece)}</code>" if index % 2 else visible(piece)
        for index, piece in enumerate(pieces)
    )
    return mark_safe("".join(shown))  # every piece is escaped by visible()
