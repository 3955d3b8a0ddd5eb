"""Sed: a script of the plain commands is read; anything else may run or write."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..decision import Decision
from ..reading import Touch, Verb
from ..words import listed
from .model import Found, Program

_LINE = r"[0-9$]+"
_MATCH = r"/(?:[^/\\\n]|\\.)*/"
_ADDRESS = rf"(?:{_LINE}(?:,[0-9$+~]+)?|{_MATCH}I?(?:,(?:{_LINE}|{_MATCH}))?)?"


def _substitution(mark: str) -> str:
    """`s` between one of its usual delimiters, with the flags that only choose and print."""
    body = rf"(?:[^{mark}\\\n]|\\.)*"
    sign = re.escape(mark)
    return rf"s{sign}{body}{sign}{body}{sign}[gpiI0-9]*"


_COMMANDS = "|".join(
    [
        r"[pdqQnNgGhHxDPl=][0-9]*",
        *(_substitution(mark) for mark in "/|#,"),
        r"y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/",
        r"[aic]\\?\s*[^\n\\]*",
    ]
)
_SIMPLE = r"[pdqQnNgGhHxDPl=]"
_GROUP = rf"\{{\s*(?:{_SIMPLE}|{_substitution('/')})(?:\s*;\s*(?:{_SIMPLE}|{_substitution('/')}))*\s*;?\s*\}}"
"""One group of plain commands, none of which takes the rest of the line."""
_PLAIN = re.compile(rf"(?:\s*{_ADDRESS}\s*!?\s*(?:{_COMMANDS}|{_GROUP})\s*(?:;|\n|$))*")
_WRITES = re.compile(r"(?:^|[;{}\n]|[0-9$/])\s*[rRwW]\s*([^\s;}]\S*)")
_IN_PLACE = re.compile(r"-[nErsuz]*i")
_SHORT = frozenset("nErsuz")
_LONG = frozenset(
    listed("""
    --quiet --silent --regexp-extended --null-data --separate --unbuffered --posix --debug
    --sandbox --help --version
    """)
)


@dataclass(slots=True)
class _Arguments:
    scripts: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    explicit: bool = False
    in_place: bool = False


def read_sed(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Options, then scripts, then files."""
    given = _arguments(args, found)
    if not given.explicit:
        given.scripts, given.files = given.files[:1], given.files[1:]
    for script in given.scripts:
        if not _PLAIN.fullmatch(script):
            found.opaque("sed script", "the sed script may run commands or write files")
            found.changes = True
            found.touches += [Touch(Verb.WRITE, name) for name in _WRITES.findall(script)]
    found.changes = found.changes or given.in_place
    verb = Verb.WRITE if given.in_place else Verb.READ
    found.touches += [Touch(verb, path) for path in given.files if path != "-"]


def _arguments(args: tuple[str, ...], found: Found) -> _Arguments:
    given = _Arguments()
    words = list(args)
    while words:
        word = words.pop(0)
        short = word.startswith("-") and not word.startswith("--")
        if word == "--":
            given.files += words
            break
        if word == "--expression" or (
            short and word.endswith("e") and _SHORT.issuperset(word[1:-1])
        ):
            given.explicit = True
            given.scripts += words[:1]
            del words[:1]
        elif word.startswith("--expression="):
            given.explicit = True
            given.scripts.append(word.partition("=")[2])
        elif word in ("-f", "--file") or word.startswith("--file="):
            given.explicit = True
            name = word.partition("=")[2] or (words.pop(0) if words else "")
            found.touches.append(Touch(Verb.RUN, name))
            found.opaque("sed -f", "the sed script is in a file that was not read")
        elif word.startswith("--in-place") or (short and _IN_PLACE.match(word)):
            given.in_place = True
            suffix = word.partition("=")[2] if not short else word.partition("i")[2]
            if "/" in suffix:
                found.touches.append(Touch(Verb.WRITE, suffix))
        elif word.startswith("-") and word != "-":
            _option(word, short, given, found)
        else:
            given.files.append(word)
    return given


def _option(word: str, short: bool, given: _Arguments, found: Found) -> None:
    if not (_SHORT.issuperset(word[1:]) if short else word in _LONG):
        name = word.partition("=")[0]
        found.remark(Decision.ASK, "sed unknown option", f"sed has an unknown option: {name}")
