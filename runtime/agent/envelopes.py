"""Trust envelopes: text that nobody vouches for, between marks that it cannot write. Pure.

Not only the mark itself is kept out, but whatever a reader, or a model, might take for one: in
letters that look alike, with signs in between that are not seen or mean nothing. An entity is no
mark: it is how one is written here that is none.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape

NAMES = ("observation", "instructions")
MAX_SOURCE = 200
_ANGLES = "<\uff1c\ufe64\u2039\u3008\u27e8\u2329\u276c\u276e\u2770\u29fc\u02c2\u1438\ufe3f"
_ANGLE = re.compile(f"[{_ANGLES}]")
_LOOKS = str.maketrans(
    {
        **dict.fromkeys("оοօᴏσ๐০໐𐐬0", "o"),
        **dict.fromkeys("ʙвьбβ6", "b"),
        **dict.fromkeys("ѕꜱꮪ5", "s"),
        **dict.fromkeys("еєεᴇ℮3", "e"),
        **dict.fromkeys("гʀꮁᴦ", "r"),
        **dict.fromkeys("ѵνᴠ", "v"),
        **dict.fromkeys("аαɑᴀ4", "a"),
        **dict.fromkeys("тτᴛ7", "t"),
        **dict.fromkeys("іıιɪɩ1", "i"),
        **dict.fromkeys("пոηɴΝ", "n"),
        **dict.fromkeys("υսᴜцʋ", "u"),
        **dict.fromkeys("сϲᴄ", "c"),
    }
)
"""Signs of other scripts, and numbers, that look like the letters of the names."""


def sealed(content: str, name: str, **attributes: object) -> str:
    """Content in an envelope. No text in it, and none in an attribute, can end the envelope."""
    given = "".join(f' {key}="{attribute(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>\n{harmless(content)}\n</{name}>"


def harmless(content: str) -> str:
    """Text in which nothing can be taken for a mark of an envelope; all else is as it was."""
    return _ANGLE.sub(_replaced, content)


def _replaced(found: re.Match[str]) -> str:
    return "&lt;" if _names(found.string, found.end()) else found[0]


def _names(text: str, at: int) -> bool:
    """Whether a careless reader sees one of the names from a place on. Signs that look alike are
    one, and what is neither a letter nor a number is none."""
    word = ""
    for place in range(at, len(text)):
        if text[place] in _ANGLES:
            return False  # another mark may begin there, and is looked at by itself
        word += _letters(text[place])
        if word.startswith(NAMES):
            return True
        if not any(name.startswith(word) for name in NAMES):
            return False
    return False


def _letters(sign: str) -> str:
    """The letters that a sign stands for: marks above and below do not count."""
    plain = unicodedata.normalize("NFKD", sign.translate(_LOOKS)).casefold().translate(_LOOKS)
    return "".join(one for one in plain if one.isalnum())


def attribute(value: object) -> str:
    """A value as an attribute: bounded, on one line, without quotes or angles."""
    text = str(value)
    shown = text if len(text) <= MAX_SOURCE else text[: MAX_SOURCE - 1] + "…"
    line = "".join(sign if sign.isprintable() else "\ufffd" for sign in shown)
    return _ANGLE.sub("&lt;", escape(line, quote=True))
