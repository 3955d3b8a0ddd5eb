"""Inline JavaScript, read for courtesy: an expression that computes and prints needs no person.

A list of the words that may occur, not of those that may not: everything else is looked at.
"""

from __future__ import annotations

import re

from ..words import listed
from .inline import Inline

MAX_INLINE = 2048
_WORDS = frozenset(
    listed(
        """
        console log error const let var if else for of in return true false null undefined typeof
        new JSON parse stringify Math max min floor ceil round abs sqrt pow random PI Object keys
        values entries Array isArray from length map filter reduce forEach join split slice concat
        sort reverse includes indexOf push trim toUpperCase toLowerCase replace repeat padStart
        padEnd toString toFixed Number String Boolean Date now toISOString parseInt parseFloat
        isNaN isInteger NaN Infinity version versions scripts dependencies devDependencies name main
        engines type description license exports i j k n m x y a b c s v e key value item acc
        """
    )
)
_PLAIN_PROCESS = re.compile(r"\bprocess\.(version|versions(\.\w+)?|platform|arch)\b(?!\s*\()")
_DATA_FILE = re.compile(r"""\brequire\(\s*(['"])(\./[\w@-][\w@/-]*\.json)\1\s*\)""")
_STRING = re.compile(r"""'[^'\\\n]*'|"[^"\\\n]*\"""")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_SIGNS = re.compile(r"[\w\s$.,;:?!(){}+*%<>=&|-]*")


def judge_javascript(code: str) -> Inline:
    """What is to be said about inline code of Node before it runs."""
    if not code.strip():
        return Inline("there is no code to read")
    if len(code) > MAX_INLINE or not code.isascii():
        return Inline("the inline code is too long or too odd to be read")
    reads = tuple(found[2] for found in _DATA_FILE.finditer(code))
    plain = _DATA_FILE.sub("0", code)
    plain = _STRING.sub("0", _PLAIN_PROCESS.sub("0", plain))
    if not _SIGNS.fullmatch(plain):
        # No slash: what looks like a string may stand between two regular expressions.
        return Inline("the inline code holds more than plain words and numbers")
    for word in _WORD.findall(plain):
        if word not in _WORDS:
            return Inline(f"the inline code uses {word[:40]}")
    return Inline("", reads)
