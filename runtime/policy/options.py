"""Arguments read as the usual option parsers read them, unkindly: clusters, joined values,
abbreviated long options, options after operands."""

from __future__ import annotations

import re

from . import protected
from .decision import Decision
from .programs.model import FOLLOWS, Found, Operands, Option, Program, Value
from .reading import Touch, Verb
from .words import Wild

MAX_CLUSTER = 64
"""Letters in one word; more than that is no bundle of options that anybody writes."""
_VERBS = {
    Operands.READ: Verb.READ,
    Operands.LIST: Verb.LIST,
    Operands.WRITE: Verb.WRITE,
    Operands.DELETE: Verb.DELETE,
    Operands.FREE: Verb.READ,
}


def read_options(program: Program, args: tuple[str, ...], found: Found) -> list[str]:
    """Apply the option table to `args`; returns the operands in order."""
    index = _Index(program)
    operands: list[str] = []
    given: set[str] = set()
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if word == "-" or not word.startswith("-"):
            operands.append(word)
            if program.options_first:
                operands += rest
                break
            continue
        if word.startswith("--"):
            _long(program, index, word, rest, found, given)
        elif (whole := index.exact.get(word)) and len(word) > 2:
            _apply(program, whole, word, _value(whole, None, rest), found, given)
        else:
            _cluster(program, index, word, rest, found, given)
    found.operands = operands
    found.follows = found.follows or FOLLOWS in given
    if given.intersection(program.deep_options):
        given.add("<deep>")
    _operands(program, operands, given, found)
    return operands


class _Index:
    """The options of a program by name."""

    def __init__(self, program: Program) -> None:
        self.exact = {name: option for option in program.options for name in option.names}

    def long(self, name: str) -> Option | None:
        """The option that a long name means; of an abbreviation the most remarkable one."""
        if name in self.exact:
            return self.exact[name]
        if len(name) < 4:
            return None
        meant = [option for known, option in self.exact.items() if known.startswith(name)]
        return max(meant, key=_weight, default=None)


def _weight(option: Option) -> int:
    decided = option.decision.rank if option.decision else 0
    return decided * 2 + (1 if option.verb in (Verb.WRITE, Verb.DELETE) else 0)


def _value(option: Option, attached: str | None, rest: list[str]) -> str | None:
    if attached is not None:
        return attached
    if option.value is Value.NEEDED and rest:
        return rest.pop(0)
    return None


def _long(
    program: Program, index: _Index, word: str, rest: list[str], found: Found, given: set[str]
) -> None:
    name, equals, attached = word.partition("=")
    option = index.long(name)
    if option is None:
        _unknown(program, word, found)
        _may_be_its_value(attached if equals else "", rest, found)
        return
    value = _value(option, attached if equals else None, rest)
    _apply(program, option, name, value, found, given)


def _cluster(
    program: Program, index: _Index, word: str, rest: list[str], found: Found, given: set[str]
) -> None:
    """`-abc`, `-ofile`, `-n5`; a single dash with a long name (`-exec=x`) where the table has it."""
    name, equals, attached = word.partition("=")
    if equals and name in index.exact:
        option = index.exact[name]
        _apply(program, option, name, _value(option, attached, rest), found, given)
        return
    if word[1:].isdigit():
        return
    for position in range(1, len(word)):
        if position > MAX_CLUSTER:
            _unknown(program, word, found, whatever=True)
            return
        option_name = f"-{word[position]}"
        known = index.exact.get(option_name)
        if known is None:
            _unknown(program, word, found)
            _may_be_its_value(word[position + 1 :].lstrip("="), rest, found)
            return
        tail = word[position + 1 :]
        if known.value is not Value.NONE:
            value = _value(known, tail or None, rest)
            _apply(program, known, option_name, value, found, given)
            return
        _apply(program, known, option_name, None, found, given)


def _apply(
    program: Program, option: Option, name: str, value: str | None, found: Found, given: set[str]
) -> None:
    given.update(option.names)
    if option.decision is not None:
        found.remark(option.decision, f"{program.name} {name}", f"{name} {option.why}".strip())
    if option.cd and value:
        found.cwd = value
    if option.verb is not None and value and value != "-":
        found.touches.append(touch(option.verb, value))
        if option.verb in (Verb.WRITE, Verb.DELETE):
            found.changes = True
    elif option.verb is Verb.RUN and value == "-":
        found.opaque(f"{program.name} stdin", "runs what it reads from its input")
    elif value is not None:
        _loose_value(value, found)


def _unknown(program: Program, word: str, found: Found, *, whatever: bool = False) -> None:
    if program.strict or whatever:
        name = word.partition("=")[0][:MAX_CLUSTER]
        found.remark(
            Decision.ASK,
            f"{program.name} unknown option",
            f"{program.name} has an option that the table does not know: {name}",
        )


def _may_be_its_value(attached: str, rest: list[str], found: Found) -> None:
    """An option that is not known may have a value, joined to it or as the next word."""
    if attached:
        _loose_value(attached, found)
    elif rest and not rest[0].startswith("-"):
        _loose_value(rest[0], found)


def _loose_value(value: str, found: Found) -> None:
    """A value of no known meaning: where it, or what follows a sign in it, names a place outside
    or a secret, that may be read."""
    tail = re.split(r"[:=@,]", value)[-1]
    for path in dict.fromkeys((value, tail)):
        if (
            path.startswith(("/", "~/", "../"))
            or path in ("~", "..")
            or protected.secret_by_name(path)
            or protected.git_part(path)
        ):
            found.touches.append(touch(Verb.READ, path))


def _operands(program: Program, operands: list[str], given: set[str], found: Found) -> None:
    skipped = program.skip
    if program.skip_unless and given.intersection(program.skip_unless):
        skipped = 0
    paths = operands[skipped:]
    deep = program.deep or "<deep>" in given
    kind = program.operands
    if kind in (Operands.COPY, Operands.MOVE, Operands.LINK):
        _transfer(kind, paths, found, "<target>" in given or bool(given & {"-t"}))
    elif kind is Operands.FILTER:
        found.touches += [touch(Verb.READ, path) for path in paths[:1] if path != "-"]
        # Of one word with wildcards the shell may make both.
        found.touches += [touch(Verb.WRITE, path) for path in paths[:1] if isinstance(path, Wild)]
        found.touches += [touch(Verb.WRITE, path) for path in paths[1:2] if path != "-"]
    elif kind in _VERBS:
        verb = _VERBS[kind]
        if kind is Operands.FREE:
            paths = [_without_sign(path) for path in paths if _like_a_path(path)]
        if kind is not Operands.FREE and not paths and deep:
            paths = ["."]
        found.touches += [touch(verb, path, deep=deep) for path in paths if path != "-"]
        if verb in (Verb.WRITE, Verb.DELETE):
            found.changes = True


def _transfer(kind: Operands, paths: list[str], found: Found, to_directory: bool) -> None:
    """cp, mv, ln: all but the last are sources, unless `-t DIR` named the target."""
    sources = paths if to_directory else paths[:-1]
    target = () if to_directory else paths[-1:]
    for path in sources:
        found.touches.append(touch(Verb.READ, path, deep=True))
        if kind is Operands.MOVE:
            found.touches.append(touch(Verb.DELETE, path, deep=True))
    found.touches += [touch(Verb.WRITE, path) for path in target]
    found.changes = True


def _like_a_path(word: str) -> bool:
    return word.startswith(("/", "~", ".")) or "/" in word or "." in word


def _without_sign(word: str) -> str:
    return word.removeprefix("@") if word.startswith("@") else word  # the same one stays a `Wild`


def touch(verb: Verb, path: str, *, deep: bool = False) -> Touch:
    """A touch of a path that is written as it will be used: wildcards are letters here."""
    return Touch(verb, path, pattern=False, deep=deep)
