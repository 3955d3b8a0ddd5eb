"""Builtins of the shell as data."""

from __future__ import annotations

import re

from .words import listed

QUIET = frozenset(
    {
        ":",
        "exit",
        "return",
        "break",
        "continue",
        "wait",
        "shift",
        "times",
        "umask",
        "jobs",
    }
)
"""They change nothing but the shell's own course."""

INNATE = frozenset(listed("echo printf true false test [ pwd command builtin exec type kill time"))
"""Builtins that are judged like the programs of the same name, and need no permission to exist."""

SPECIAL = {
    "eval": "runs text that is put together as it goes",
    ".": "runs a file in this shell",
    "source": "runs a file in this shell",
    "trap": "runs text later",
    "alias": "gives commands other meanings",
    "unalias": "gives commands other meanings",
    "enable": "gives commands other meanings",
    "hash": "gives commands other files",
    "history": "reads or writes the shell's history",
    "fc": "runs earlier commands",
    "bind": "binds keys to commands",
    "complete": "runs commands on completion",
    "compgen": "runs commands on completion",
    "shopt": "changes how the shell reads words",
    "let": "computes, and can run commands in subscripts",
    "mapfile": "runs a callback",
    "readarray": "runs a callback",
    "read": "takes words from the input",
    "getopts": "sets variables",
    "coproc": "starts a second shell",
    "suspend": "stops the shell",
    "disown": "detaches a job",
    "bg": "moves a job",
    "fg": "moves a job",
    "ulimit": "changes limits",
    "caller": "looks at the call stack",
    "logout": "leaves a login shell",
    "pushd": "changes the directory",
    "popd": "changes the directory",
    "function": "defines a function",
}
_TEST = re.compile(
    r"\[ (?:! )?(?:-[defhknprstuwxzLS] )?(?P<a>[\w./,:@%+=-]+|\"[\w./ ,:@%+=-]*\"|'[^']*')"
    r"(?: (?:=|!=|-eq|-ne|-lt|-gt|-le|-ge|-nt|-ot) (?:[\w./,:@%+=-]+|\"[\w./ ,:@%+=-]*\"|'[^']*'))? \]"
)


_DOUBLE_TEST = re.compile(
    r"\[\[ (?:! )?(?:-[defhknprsuwxzLS] (?:[\w./,:@%+=-]+|\"[\w./ ,:@%+=-]*\"|'[^']*')"
    r"|[\w./,:@%+-]+ (?:=|==|!=) (?:[\w./,:@%+-]+|\"[\w./ ,:@%+=-]*\"|'[^']*')) \]\]"
)
"""In double brackets numbers are computed, and what is computed can run commands."""


def judge_test(text: str) -> bool:
    """Whether a condition in brackets consists of plain words."""
    return _TEST.fullmatch(text) is not None or _DOUBLE_TEST.fullmatch(text) is not None
