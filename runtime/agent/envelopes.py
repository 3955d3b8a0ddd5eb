"""Trust envelopes: text that nobody vouches for, between marks that it cannot write. Pure."""

from __future__ import annotations

import re
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


def _wide(letter: str) -> str:
    """The letter, and its twin of double width."""
    return f"[{letter}{chr(ord(letter) - ord('a') + 0xFF41)}]"


def _word(name: str) -> str:
    return f"[{_UNSEEN}]*+".join(map(_wide, name))


_TAG = re.compile(
    f"[{_OPENS}](?=[{_UNSEEN}{_SLASHES}]*+(?:{'|'.join(map(_word, NAMES))}))", re.IGNORECASE
)


def sealed(content: str, name: str, **attributes: object) -> str:
    """Content in an envelope. No text in it, and none in an attribute, can end the envelope."""
    given = "".join(f' {key}="{attribute(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>\n{harmless(content)}\n</{name}>"


def harmless(content: str) -> str:
    """Text in which nothing can be taken for a mark of an envelope; all else is as it was."""
    return _TAG.sub("&lt;", content)


def attribute(value: object) -> str:
    """A value as an attribute: bounded, on one line, without quotes or angles."""
    text = str(value)
    shown = text if len(text) <= MAX_SOURCE else text[: MAX_SOURCE - 1] + "…"
    line = "".join(sign if sign.isprintable() else "\ufffd" for sign in shown)
    return re.sub(f"[{_OPENS}]", "&lt;", escape(line, quote=True))
