"""Shapes of well-known credentials, as data: a name, a cheap marker, and a pattern.

A pattern is only tried where its marker occurs. The text may be megabytes of anything: what a
pattern passes over before it can fail is bounded, or can begin only once. Group `secret`, where
present, is what is replaced; else the whole match is. Formats: the vendors' own documentation of
their prefixes, RFC 6750 (bearer), RFC 7519 (JWT), RFC 7468 (PEM), RFC 3986 (userinfo).
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Shape(NamedTuple):
    """One kind of credential. `marker` is compared in lower case."""

    name: str
    marker: str
    pattern: re.Pattern[str]


def _shape(name: str, marker: str, pattern: str, flags: int = 0) -> Shape:
    return Shape(name, marker, re.compile(pattern, flags))


SHAPES: tuple[Shape, ...] = (
    _shape("github-token", "gh", r"gh[pousr]_(?:(?!gh[pousr]_)[A-Za-z0-9]){30,255}"),
    _shape("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{30,255}"),
    _shape("gitlab-token", "glpat-", r"glpat-[A-Za-z0-9_\-.]{16,255}"),
    _shape("model-key", "sk-", r"\bsk-[A-Za-z0-9_\-]{20,255}"),
    _shape("google-key", "aiza", r"AIza[A-Za-z0-9_\-]{30,60}"),
    _shape("aws-key-id", "a", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _shape("slack-token", "xox", r"xox[abeprs]-[A-Za-z0-9\-]{10,255}"),
    _shape("stripe-key", "_live_", r"[rs]k_live_[A-Za-z0-9]{16,255}"),
    _shape("package-token", "pypi-", r"pypi-[A-Za-z0-9_\-]{40,1024}"),
    _shape("package-token", "npm_", r"npm_[A-Za-z0-9]{30,255}"),
    _shape("hub-token", "hf_", r"hf_[A-Za-z0-9]{30,255}"),
    _shape("jwt", "eyj", r"\beyJ[A-Za-z0-9_\-]{8,4096}+\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}"),
    _shape(
        "private-key",
        "private key",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
        re.DOTALL,
    ),
    _shape(
        "bearer",
        "bearer",
        r"(?i)\bbearer\s+(?P<secret>[A-Za-z0-9\-._~+/]{12,}=*)",
    ),
    _shape("basic-auth", "basic", r"(?i)\bbasic\s+(?P<secret>[A-Za-z0-9+/]{12,}={0,2})"),
    _shape("url-password", "://", r"://[^\s/:@]*:(?P<secret>[^\s/@]+)@"),
    _shape(
        "named-secret",
        "",
        r"(?i)(?:pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key)"
        r"[\"']?\s*[=:]\s*[\"']?"
        r"(?P<secret>(?=[^\s\"'\d]{0,256}+\d)(?=[^\s\"'A-Za-z]{0,256}+[A-Za-z])"
        r"[A-Za-z0-9+/=_\-!@#$%^*]{12,})",
    ),
)
NAMED = re.compile(r"(?i)pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key")
ANNOUNCED = re.compile(
    r"(?i)(?:(?:bearer|basic)\s*"
    rf"|(?:{NAMED.pattern.removeprefix('(?i)')})[\"']?\s*(?:[=:]\s*[\"']?)?"
    r"|\b[a-z][a-z0-9+.\-]*://"
    r"|-----BEGIN[A-Z0-9 ]*)\S*\Z"
)
"""An end of text after which a secret may come, for text that is still arriving."""
OPTION = re.compile(
    r"(?i)^(--?(?:[a-z0-9-]*-)?(?:password|passwd|passphrase|secret|token|api-?key|access-?key))"
    r"(?:=(.+))?$",
    re.DOTALL,
)
"""A command-line option whose value, joined by `=` or the next argument, is a secret."""
