"""Trust envelopes: text that nobody vouches for, between marks that it cannot write. Pure."""

from __future__ import annotations

import re
import unicodedata
from html import escape

NAMES = ("observation", "instructions")
MAX_SOURCE = 200
# What a reader, or a model, may overlook between the signs of a tag: blanks, controls, marks without
# width.
_UNSEEN = (
    r"\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_SLASHES = r"/\\\u2044\u2215\u29f8\uff0f\ufe68\uff3c"
_OPENS = r"<\uff1c\ufe64\u2039\u3008\u27e8\u2329\u276e\u02c2"
_OPEN = re.compile(f"[{_OPENS}]")
_GAP = re.compile(f"[{_UNSEEN}{_SLASHES}]*+")
_LONGEST = max(map(len, NAMES))


def sealed(content: str, name: str, **attributes: object) -> str:
    """Content in an envelope. No text in it, and none in an attribute, can end the envelope."""
    given = "".join(f' {key}="{attribute(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>\n{harmless(content)}\n</{name}>"


def harmless(content: str) -> str:
    """Text in which nothing can be taken for a mark of an envelope; all else is as it was."""
    return _OPEN.sub(_replaced, content)


def _replaced(found: re.Match[str]) -> str:
    return "&lt;" if _word(found.string, found.end()).startswith(NAMES) else found[0]


def _word(text: str, at: int) -> str:
    """The word that a careless reader sees from a place on: signs that mean the same are one, and
    what cannot be seen is none."""
    word = ""
    while len(word) < _LONGEST:
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at
        if at >= len(text) or not any(name.startswith(word) for name in NAMES):
            break
        word += "".join(unicodedata.normalize("NFKC", text[at]).casefold().split())
        at += 1
    return word


def attribute(value: object) -> str:
    """A value as an attribute: bounded, on one line, without quotes or angles."""
    text = str(value)
    shown = text if len(text) <= MAX_SOURCE else text[: MAX_SOURCE - 1] + "…"
    line = "".join(sign if sign.isprintable() else "\ufffd" for sign in shown)
    return _OPEN.sub("&lt;", escape(line, quote=True))
