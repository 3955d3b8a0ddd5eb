"""Which rules a person is offered in place of one exact action, and what such a rule covers.

It lifts only what the developer defaults (or the mode `safe`) ask, and only for the reasons that
were given when it was agreed to: whatever another stage says, or another option makes them say, is
asked again.
"""

from __future__ import annotations

from . import judging
from .arguments import parse_flag
from .case import Case
from .decision import Decision
from .reading import Part, Remark
from .remembered import Remembered
from .rules import Circumstances
from .words import UNREAD, Wild

MOST_WORDS = 3
"""Leading words that an offered rule binds at most."""
MAX_ASKED = 16
_LIFTED = frozenset({"defaults", "mode"})
_PATTERN = frozenset("*?[")


def offers(case: Case) -> tuple[Remembered, ...]:
    """The rules that would cover a question, narrowest first; () where only its exact action can
    be remembered. There is one only where a single command is asked about, in plain words."""
    asking = _asking(case)
    if asking is None or len(asking) != 1:
        return ()
    part, remarks = asking[0]
    args = part.argv[1:]
    asked = tuple(dict.fromkeys((one.rule, one.reason) for one in remarks))
    if not part.program or not _plain(args) or len(asked) > MAX_ASKED:
        return ()
    flags = tuple(dict.fromkeys(word for word in args if _option(word)))
    if not all(map(_readable, flags)):
        return ()
    leading = 0
    while leading < min(len(args), MOST_WORDS) and not _option(args[leading]):
        leading += 1
    found = (
        Remembered(part.tool, part.program, args[:count], flags, asked, part.hosts)
        for count in range(leading, 0, -1)
    )
    around = _around(case)
    return tuple(one for one in found if one.is_short and one.rule.matches(part, around))


def covers(remembered: Remembered, case: Case) -> bool:
    """Whether it lifts all that is asked about a case."""
    asking = _asking(case)
    around = _around(case)
    return asking is not None and all(
        remembered.fits(part, around)
        and all((one.rule, one.reason) in remembered.asked for one in remarks)
        for part, remarks in asking
    )


def _asking(case: Case) -> list[tuple[Part, list[Remark]]] | None:
    """The parts that are asked about, and why; None where anything else asks, too."""
    if case.standing() is not Decision.ASK:
        return None
    asked = {name for name, finding in case.counted() if finding.outcome is Decision.ASK}
    if not asked <= _LIFTED:
        return None
    found = []
    for index, part in enumerate(case.parts):
        remarks = [] if index in case.silenced else judging.default_remarks(part)
        if any(one.decision is not Decision.ASK for one in remarks):
            return None
        if remarks or ("mode" in asked and part.mutation):
            found.append((part, remarks))
    return found or None


def _around(case: Case) -> Circumstances:
    request = case.request
    return Circumstances(request.role, request.kind, request.mode, case.context.moment)


def _plain(args: tuple[str, ...]) -> bool:
    return all(
        word.isprintable()
        and UNREAD not in word
        and not isinstance(word, Wild)
        and not _PATTERN.intersection(word)
        for word in args
    )


def _option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _readable(word: str) -> bool:
    try:
        parse_flag(word)
    except ValueError:
        return False
    return True
