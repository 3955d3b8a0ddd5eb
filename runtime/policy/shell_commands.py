"""Simple commands of a script: builtins by their tables, everything else by its program."""

from __future__ import annotations

import re
from collections.abc import Callable

from .decision import Decision
from .reading import Part, Place, Remark, Touch, Verb
from .shell_builtins import INNATE, QUIET, SPECIAL
from .shell_state import Around, Node, State, opaque
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
    if any(word.text is None for word in words) and not _only_said(state, words):
        around.remarks.append(opaque("expansion", "a word is made only when the script runs"))
    name = words[0]
    if name.text is None or name.wild:
        around.remarks.append(opaque("program", "a program is named only when the script runs"))
        around.touches += [Touch(Verb.READ, word.path()) for word in words[1:] if word.text]
        state.unknown_program(around)
        return
    argv = [name.text, *(UNREAD if word.text is None else word.path() for word in words[1:])]
    _dispatch(state, argv, around, read_text)


_STATEMENTS = frozenset({"command", "pipeline", "list", "redirected_statement"})


def _only_said(state: State, words: list[Word]) -> bool:
    """Whether the words are those of an `echo`, and what is not known of them is only what
    commands say, which are read for themselves."""
    return (
        words[0].text == "echo"
        and not state.functions
        and all(word.text is not None or _said(word.inner[0]) for word in words)
    )


def _said(node: Node) -> bool:
    if node.type == "command_substitution":
        return (
            node.children[0].type == "$("
            and bool(node.named_children)
            and all(
                child.type in _STATEMENTS
                and (child.type != "redirected_statement" or child.child_by_field_name("body"))
                for child in node.named_children
            )
        )
    return node.type in ("string", "concatenation") and all(
        child.type in ("string_content", "word", "raw_string", "number")
        or (child.type in ("string", "command_substitution") and _said(child))
        for child in node.named_children
    )


def _dispatch(state: State, argv: list[str], around: Around, read_text: ReadText) -> None:
    name = argv[0]
    if name in state.functions:
        state.unknown_program(around)
    elif name == "cd":
        _cd(state, argv[1:], around)
    elif name in QUIET:
        if name == "wait" and any(word.startswith("-p") for word in argv[1:]):
            around.remarks.append(opaque("wait -p", "sets a variable"))
        state.surround(around)
    elif name in SPECIAL:
        around.remarks.append(opaque(name, f"{name} {SPECIAL[name]}"))
        state.unknown_program(around)
        _special(state, argv, read_text)
    elif name == "set":
        if len(argv) == 1:
            around.remarks.append(opaque("set", "prints every variable into the record"))
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
    """Follow a change of directory; whether it is done is known where the directory is there."""
    words = [word for word in args if word not in ("--", "-P", "-L")]
    if len(words) != 1 or words[0] in ("-", UNREAD) or isinstance(words[0], Wild):
        around.remarks.append(opaque("cd", "changes to a directory that cannot be told"))
        state.surround(around)
        state.scope.lost = True
        return
    touch = Touch(Verb.LIST, words[0])
    place = state.reader.lens.place(touch, state.scope.cwd)
    around.touches.append(touch)
    if not place.inside:
        around.remarks.append(Remark("boundary", Decision.ASK, "cd outside", "leaves the worktree"))
    state.surround(around)
    before = state.scope.place
    inside = place.real if "-P" in args else place.relative  # -P: up from where links lead
    state.scope.cwd = inside if place.inside else place.path
    state.scope.fallen = before
    state.scope.sure = place.facts.type == "dir" and not _removed(state, place)


def _removed(state: State, target: Place) -> bool:
    """Whether the script itself may have taken a directory away before."""
    return any(
        place.touch.verb is Verb.DELETE
        and (place.touch.pattern or f"{target.path}/".startswith(f"{place.path}/"))
        for part in state.parts
        for place in part.places
    )
