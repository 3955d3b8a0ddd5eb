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


_VENDORS = (
    ("sg.", r"\bSG\.[A-Za-z0-9_\-]{16,64}\.[A-Za-z0-9_\-]{16,128}"),
    ("/api/webhooks/", r"(?<=/api/webhooks/)\d{8,32}/[A-Za-z0-9_\-]{30,255}"),
    (".", r"\b[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,40}"),
    ("sk", r"\bSK[0-9a-f]{32}\b"),
    (":aa", r"\b\d{8,10}:AA[A-Za-z0-9_\-]{32,34}"),
    ("_v1_", r"\bdo[oprt]_v1_[a-f0-9]{64}"),
    ("shp", r"\bshp(?:at|ca|pa|ss)_[A-Za-z0-9]{32}"),
    ("sq0", r"\bsq0[a-z]{3}-[A-Za-z0-9_\-]{22,43}"),
    ("-us", r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    ("key-", r"\bkey-[0-9a-f]{32}\b"),
    ("dckr_", r"\bdckr_[a-z]{3}_[A-Za-z0-9_\-]{20,255}"),
    ("atatt3", r"\bATATT3[A-Za-z0-9_\-=]{50,512}"),
    ("figd_", r"\bfigd_[A-Za-z0-9_\-]{30,255}"),
    ("lin_", r"\blin_(?:api|oauth)_[A-Za-z0-9]{30,255}"),
    ("ntn_", r"\bntn_[A-Za-z0-9]{30,255}"),
    ("nr", r"\bNR(?:AK|JS|II)-[A-Za-z0-9_\-]{19,64}"),
    ("pmak-", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("rubygems_", r"\brubygems_[a-f0-9]{40,64}"),
    ("sbp_", r"\bsbp_[a-f0-9]{40,64}"),
    ("dapi", r"\bdapi[a-f0-9]{32}\b"),
    ("gls", r"\bglsa_[A-Za-z0-9_]{32,64}"),
    ("glc_", r"\bglc_[A-Za-z0-9+/=]{32,512}"),
    ("hv", r"\bhv[bsr]\.[A-Za-z0-9_\-]{24,512}"),
    (".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-]{40,255}"),
    ("cio", r"\bcio[A-Za-z0-9]{32}\b"),
    ("age-secret-key-", r"(?i)\bAGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("accountkey=", r"(?i)(?<=accountkey=)[A-Za-z0-9+/]{40,100}={0,2}"),
    ("akc", r"\bAKC[A-Za-z0-9]{40,255}"),
    ("pul-", r"\bpul-[a-f0-9]{40}"),
    ("pscale_", r"\bpscale_[a-z]{2,6}_[A-Za-z0-9_\-.=]{32,255}"),
    ("fm", r"\bfm[12]_[A-Za-z0-9+/=_\-]{32,2048}"),
    ("tskey-", r"\btskey-[a-z]{2,8}-[A-Za-z0-9\-]{16,255}"),
    ("ops_", r"\bops_eyJ[A-Za-z0-9_\-]{32,4096}"),
    ("dp.", r"\bdp\.[a-z]{2,5}\.(?:[a-z0-9_\-]{2,35}\.)?[A-Za-z0-9]{40,48}"),
    ("gsk_", r"\bgsk_[A-Za-z0-9]{30,255}"),
    ("r8_", r"\br8_[A-Za-z0-9]{30,255}"),
    ("pplx-", r"\bpplx-[A-Za-z0-9]{30,255}"),
    ("xai-", r"\bxai-[A-Za-z0-9]{30,255}"),
    ("sntry", r"\bsntry[a-z]_[A-Za-z0-9+/=_\-]{30,512}"),
    ("nfp_", r"\bnfp_[A-Za-z0-9]{30,255}"),
    ("vc", r"\bvc[a-z]_[A-Za-z0-9]{24,255}"),
    ("hrku-", r"\bHRKU-[A-Za-z0-9_\-]{30,255}"),
    ("pat", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("dt0", r"\bdt0[a-z]\d{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
)
"""Beginnings that other vendors document for their tokens."""
SHAPES: tuple[Shape, ...] = (
    _shape("github-token", "gh", r"gh[pousr]_(?:(?!gh[pousr]_)[A-Za-z0-9]){30,255}"),
    _shape("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{30,255}"),
    _shape(
        "gitlab-token",
        "gl",
        r"gl(?:pat|dt|rt|rtr|soat|ptt|ft|imt|agent|cbt|oas|ffct)-[A-Za-z0-9_\-.]{16,255}",
    ),
    _shape("gitlab-token", "gr1348941", r"GR1348941[A-Za-z0-9_\-]{20,50}"),
    _shape("model-key", "sk-", r"\bsk-[A-Za-z0-9_\-]{20,255}"),
    _shape("google-key", "aiza", r"AIza[A-Za-z0-9_\-]{30,60}"),
    _shape("aws-key-id", "a", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _shape("google-key", "gocspx-", r"GOCSPX-[A-Za-z0-9_\-]{20,60}"),
    _shape("google-token", "ya29.", r"\bya29\.[A-Za-z0-9_\-]{20,2048}"),
    _shape("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9\-]{10,255}"),
    _shape("slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/(?P<secret>[\w/]{20,255})"),
    _shape("slack-token", "xox", r"xox[a-z][-.][A-Za-z0-9\-.]{10,255}"),
    _shape("stripe-key", "k_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
    _shape("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/]{24,255}"),
    _shape("package-token", "pypi-", r"pypi-[A-Za-z0-9_\-]{40,1024}"),
    _shape("package-token", "npm_", r"npm_[A-Za-z0-9]{30,255}"),
    *(_shape("vendor-token", marker, pattern) for marker, pattern in _VENDORS),
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
BEGUN = re.compile(
    r"(?:(?<![A-Za-z0-9_\-.])(?>[A-Za-z0-9_\-.]*?\beyJ)[A-Za-z0-9_\-.]*+"
    r"|://[^\s/:@]*+(?::[^\s/@]*+)?)\Z"
)
"""An end of text that may be the first parts of a JWT, or the user and password of an address:
they have any length, and only what follows tells."""
OPTION = re.compile(
    r"(?i)^(--?(?:[a-z0-9-]*-)?(?:password|passwd|passphrase|secret|token|api-?key|access-?key))"
    r"(?:=(.+))?$",
    re.DOTALL,
)
"""A command-line option whose value, joined by `=` or the next argument, is a secret."""
