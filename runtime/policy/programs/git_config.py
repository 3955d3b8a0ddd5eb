"""Settings of a repository that make git run programs. Where git obeys such a file, even
`git status` is no pure look."""

from __future__ import annotations

import re

_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)')
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=|$|\s)")
_RUNS = re.compile(
    r"core\.(fsmonitor|sshcommand|pager|editor|hookspath|askpass|gitproxy|alternaterefscommand"
    r"|attributesfile|worktree)"
    r"|(diff|merge|filter|difftool|mergetool|browser|man|guitool|tar|uploadpack|receive)(\..*)?"
    r"\.(command|driver|textconv|external|clean|smudge|process|cmd|path|packobjectshook|.*hook)"
    r"|diff\.external|alias\..+|pager\..+|credential(\..*)?\.helper|gpg(\..*)?\.program"
    r"|sequence\.editor|interactive\.difffilter|include(if)?(\..*)?\.path|remote\..+\.(uploadpack"
    r"|receivepack|vcs|proxy)|url\..+\.(insteadof|pushinsteadof)|protocol(\..*)?\.allow"
    r"|sendemail(\..*)?\.(.*cmd|smtpserver)|submodule\..+\.update|trailer\..+\.(command|cmd)"
    r"|extensions\.worktreeconfig|help\.browser|web\.browser|instaweb\..+|init\.templatedir"
    r"|commit\.gpgsign|gc\.recentobjectshook|hook\..+"
)
MAX_CONFIG = 1 << 20


def settings_that_run(text: str) -> tuple[str, ...]:
    """Names of the settings in a git configuration that run programs or pull in other settings.

    A text over 1 MiB is answered with one name that says so: in doubt it runs something.
    """
    if len(text) > MAX_CONFIG:
        return ("a configuration that is too long to be read",)
    found: list[str] = []
    section = ""
    for line in text.splitlines():
        opened = _SECTION.match(line)
        if opened:
            name, subsection, line = opened.groups()
            section = name.casefold() if subsection is None else f"{name.casefold()}.{subsection}"
        setting = _SETTING.match(line)
        if setting and section:
            whole = f"{section}.{setting[1].casefold()}"
            if _RUNS.fullmatch(whole):
                found.append(whole)
    return tuple(dict.fromkeys(found))
