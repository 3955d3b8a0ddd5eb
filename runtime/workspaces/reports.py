"""Whether a test runner that ended well also said that it did. Pure.

Code under test can end the process, with status 0, before a test has failed. Known runners print
a last line in every run; where it is missing, the status proves nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

_REPORTS = {
    "pytest": re.compile(
        r"\b\d+ (passed|failed|skipped|deselected|xfailed|xpassed|tests? collected)\b"
    ),
    "unittest": re.compile(r"^Ran \d+ tests? in ", re.MULTILINE),
    "cargo": re.compile(r"^test result: ok", re.MULTILINE),
}
_BEFORE = frozenset({"-m", "run", "exec"})
_OTHERWISE = frozenset(
    ("--version", "-V", "--help", "-h", "--co", "--collect-only", "--fixtures", "--markers")
    + ("--no-run", "--list", "-qq", "-qqq")
)
"""With one of these a runner prints another end, or none."""


def unreported(argv: Sequence[str], output: str) -> str:
    """The runner whose last line is not in `output` though its command ended well, or ""."""
    quiet = sum(word in ("-q", "--quiet") for word in argv)
    if quiet > 1 or not _OTHERWISE.isdisjoint(argv) or "no:terminal" in " ".join(argv):
        return ""
    runner = _runner(argv)
    return runner if runner and not _REPORTS[runner].search(output) else ""


def _runner(argv: Sequence[str]) -> str:
    for place, word in enumerate(argv):
        name = posixpath.basename(word).replace("py.test", "pytest")
        if name == "cargo":
            return name if {*argv[place + 1 : place + 2]} & {"test", "t"} else ""
        if name in _REPORTS and (place == 0 or argv[place - 1] in _BEFORE):
            return name
    return ""
