"""Terminal output as HTML: colours as classes, every other escape sequence dropped."""

from __future__ import annotations

import re

from ansi2html import Ansi2HTMLConverter
from django.utils.safestring import SafeString, mark_safe

from . import text

_OTHER = re.compile(
    r"\x1b\[[0-?]*[ -/]*(?:[@-ln-~])"  # control sequences but colours, which end in m
    r"|\x1b\[[<-?][0-?]*[ -/]*m"  # private forms that end in m as well
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # strings: titles, links, device control
    r"|\x1b[ -/]*[0-Z\\^-~]",  # two-character sequences
    re.DOTALL,
)
_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")


def render(output: str) -> SafeString:
    """Output with its colours, escaped, hidden characters as marks.

    A lone carriage return starts a new line: a terminal would write over what stood there.
    """
    lines = output.replace("\r\n", "\n").replace("\r", "␍\n")
    kept = _OTHER.sub("", lines)
    pieces = _COLOUR.split(kept)
    shown = "".join(piece if index % 2 else text.plain(piece) for index, piece in enumerate(pieces))
    if len(pieces) == 1:
        return text.visible(kept)
    converter = Ansi2HTMLConverter(inline=False, linkify=False, dark_bg=False, line_wrap=True)
    html = converter.convert(shown, full=False, ensure_trailing_newline=False)
    return mark_safe(html)  # the converter escapes what is no colour
