"""Simple commands of a script: builtins by their tables, everything else by its program."""

from __future__ import annotations

import re
from collections.abc import Callable

from .decision import Decision
from .reading import Part, Remark, Touch, Verb
from .shell_builtins import INNATE, QUIET, SPECIAL
from .shell_state import Around, State, opaque
from .shell_words import Word
from .words import UNREAD, Wild

ReadText = Callable[[str], list[Part]]
_SET = re.compile(r"[-+][euxvfn]*o?|pipefail|errexit|nounset|xtrace|--")


def simple(state: State, words: list[Word], around: Around, read_text: ReadText) -> None:
    """Hand a simple command on, or keep to what can be said without its name."""
    if not words:
        state.surround(around)
        return
    if state.scope.lost:
        around.remarks.append(
            opaque("directory", "nobody can say in which directory a command runs")
        )
    if any(word.text is None for word in words):
        around.remarks.append(opaque("expansion", "a word is made only when the script runs"))
    name = words[0]
    if name.text is None or name.wild:
        around.remarks.append(opaque("program", "a program is named only when the script runs"))
        around.touches += [Touch(Verb.READ, word.path()) for word in words[1:] if word.text]
        state.unknown_program(around)
        return
    argv = [name.text, *(UNREAD if word.text is None else word.path() for word in words[1:])]
    _dispatch(state, argv, around, read_text)


def _dispatch(state: State, argv: list[str], around: Around, read_text: ReadText) -> None:
    name = argv[0]
    if name in state.functions:
        state.unknown_program(around)
    elif name == "cd":
        _cd(state, argv[1:], around)
        state.surround(around)
    elif name in QUIET:
        if name == "wait" and any(word.startswith("-p") for word in argv[1:]):
            around.remarks.append(opaque("wait -p", "sets a variable"))
        state.surround(around)
    elif name in SPECIAL:
        around.remarks.append(opaque(name, f"{name} {SPECIAL[name]}"))
        state.unknown_program(around)
        _special(state, argv, read_text)
    elif name == "set":
        if not all(_SET.fullmatch(word) for word in argv[1:]):
            around.remarks.append(opaque("set", "changes the shell's words or options"))
        state.surround(around)
    else:
        state.parts += state.reader.read(
            argv,
            state.scope.cwd,
            depth=state.depth,
            remarks=around.remarks,
            touches=around.touches,
            innate=name in INNATE,
        )


def _special(state: State, argv: list[str], read_text: ReadText) -> None:
    """Builtins that run something: their text is read where there is one."""
    name, args = argv[0], argv[1:]
    if not args or UNREAD in args:
        return
    if name == "eval":
        state.parts += read_text(" ".join(args))
    elif name == "trap":
        state.parts += read_text(args[0])
    elif name in (".", "source"):
        state.unknown_program(Around([Touch(Verb.RUN, args[0])]))


def _cd(state: State, args: list[str], around: Around) -> None:
    """Follow a change of directory; it counts as done where the directory is there."""
    words = [word for word in args if word not in ("--", "-P", "-L")]
    if len(words) != 1 or words[0] in ("-", UNREAD) or isinstance(words[0], Wild):
        around.remarks.append(opaque("cd", "changes to a directory that cannot be told"))
        state.scope.lost = True
        return
    touch = Touch(Verb.LIST, words[0])
    place = state.reader.lens.place(touch, state.scope.cwd)
    around.touches.append(touch)
    if not place.inside:
        around.remarks.append(Remark("boundary", Decision.ASK, "cd outside", "leaves the worktree"))
    if place.facts.type != "dir":
        state.scope.lost = True
    state.scope.cwd = place.relative if place.inside else place.path
