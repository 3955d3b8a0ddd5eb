"""Which hosts a command names, for rules about hosts. What can be read is listed, no more."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from .hosts import as_address

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{0,20}):(?://)+[^\s'\"<>]+", re.IGNORECASE)
_SCP = re.compile(r"(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+\.[A-Za-z0-9.-]+):(?!//).*", re.DOTALL)
_BARE = re.compile(
    r"(?:[A-Za-z0-9._-]+@)?"
    r"((?:[A-Za-z0-9_-]+\.)+[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+){3}|\[[0-9A-Fa-f:.]+\])"
    r"(?::\d+)?(?:/.*)?",
    re.DOTALL,
)
MAX_HOSTS = 64


def in_words(words: Iterable[str], *, network: bool) -> tuple[str, ...]:
    """Hosts in a command's arguments. Of a program that talks to others (`network`), names with
    a dot count, too: they may be files, and a rule that refuses should still see them."""
    found: dict[str, None] = {}
    for word in words:
        value = word.partition("=")[2] if word.startswith("-") else word
        for text in dict.fromkeys((word, value)):
            for url in _URL.findall(text):
                _add(found, of_address(url))
        scp = _SCP.fullmatch(value)
        bare = _BARE.fullmatch(value) if network else None
        if scp and network:
            _add(found, normal(scp.group(1)))
        elif bare and not _URL.search(value):
            _add(found, normal(bare.group(1)))
        if len(found) >= MAX_HOSTS:
            break
    return tuple(found)


def _add(found: dict[str, None], host: str) -> None:
    if host:
        found[host] = None


def of_address(address: str) -> str:
    """The host of an address (`https://…`, `git@host:path`), or "" where there is none."""
    scp = _SCP.fullmatch(address)
    if scp and "://" not in address:
        return normal(scp.group(1))
    try:
        return normal(urlsplit(address).hostname or "")
    except ValueError:
        return ""


@lru_cache(maxsize=1024)
def normal(host: str) -> str:
    """One spelling for each host: lower case, no last dot, numbers as addresses."""
    plain = host.casefold().rstrip(".")
    address = as_address(plain)
    return str(address) if address is not None else plain


def fits(pattern: str, host: str) -> bool:
    """`*` is every host, `*.example.org` every one below it, anything else the host itself."""
    if pattern == "*":
        return True
    wanted = normal(pattern.removeprefix("*."))
    if pattern.startswith("*."):
        return host.endswith("." + wanted)
    return host == wanted


_PATTERN = re.compile(
    r"\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[?[0-9a-f:.]+\]?", re.IGNORECASE
)


def check(pattern: str) -> str:
    """The pattern, where it can be one. Raises `ValueError`."""
    if not _PATTERN.fullmatch(pattern) or ".." in pattern or len(pattern) > 255:
        raise ValueError(
            f"{pattern!r} is no host: write example.org, *.example.org, an address, or *"
        )
    return pattern
