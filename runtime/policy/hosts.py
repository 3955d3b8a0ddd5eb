"""The host rule: there is no network by default, and some addresses are nobody's to give."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .decision import Decision
from .reading import Part, Remark

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "DNS"})
_QUIET = frozenset({"GET", "HEAD", "OPTIONS", "CONNECT", "DNS"})
_OWN = re.compile(
    r"localhost|.*\.localhost|.*\.local|.*\.internal|.*\.lan|.*\.home|.*\.corp|.*\.localdomain|metadata(\..*)?"
    r"|instance-data(\..*)?|kubernetes(\..*)?|.*\.svc|.*\.cluster|host\.docker\..*|gateway\.docker\..*"
    r"|.*\.(nip|sslip|xip)\.io|.*\.localtest\.me|.*\.lvh\.me|.*\.in-addr\.arpa|.*\.ip6\.arpa"
)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_HOST = re.compile(
    r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?)+\.?"
)
MAX_TARGET = 8192


@dataclass(frozen=True, slots=True)
class NetworkRequest:
    """What `policy check` asks about: a method and an address."""

    method: str
    target: str


class InvalidRequest(ValueError):
    """The request does not fit its schema."""


def parse(raw: Mapping[Any, object]) -> NetworkRequest:
    """The request that decoded JSON describes. Raises `InvalidRequest`."""
    unknown = {str(key) for key in raw} - {"kind", "method", "target"}
    if unknown:
        raise InvalidRequest(f"unknown field: {sorted(unknown)[0][:60]}")
    method, target = raw.get("method"), raw.get("target")
    if not isinstance(method, str) or method.upper() not in METHODS:
        raise InvalidRequest(f"method: one of {', '.join(sorted(METHODS))}")
    if not isinstance(target, str) or not 0 < len(target) <= MAX_TARGET or "\0" in target:
        raise InvalidRequest(f"target: text of 1 to {MAX_TARGET} characters")
    return NetworkRequest(method.upper(), target)


def read(request: NetworkRequest) -> Part:
    """The request as a part, with everything that can be said against it."""
    remarks = [Remark("defaults", Decision.ASK, "network", "the cage has no network")]
    remarks += _judge(request)
    return Part(
        tool="network",
        program=request.method,
        argv=(request.method, request.target),
        remarks=tuple(remarks),
        network=True,
        mutation=True,
        capability="network",
        hosts=_hosts(request),
    )


def _hosts(request: NetworkRequest) -> tuple[str, ...]:
    try:
        host = _split(request)[1].rstrip(".")
    except ValueError:
        return ()
    address = as_address(host)
    return (str(address) if address is not None else host,)


def _judge(request: NetworkRequest) -> list[Remark]:
    try:
        scheme, host, port, userinfo = _split(request)
    except ValueError as error:
        return [_veto("address", f"the address cannot be read: {error}")]
    remarks = []
    if scheme not in ("http", "https", ""):
        remarks.append(_veto("scheme", f"{scheme} is not a scheme of the web"))
    if userinfo:
        remarks.append(_veto("userinfo", "a name before the host hides which host is meant"))
    remarks += _judge_host(host)
    if port not in (80, 443):
        remarks.append(_veto("port", f"port {port} is not a port of the web"))
    if scheme == "http" or port == 80:
        remarks.append(_more("plain http", "whoever is on the way can change it"))
    if request.method == "DNS":
        remarks.append(_more("dns", "a host name carries data out"))
    elif request.method not in _QUIET:
        remarks.append(_more("method", f"{request.method} sends data to another host"))
    return remarks


def _split(request: NetworkRequest) -> tuple[str, str, int, bool]:
    target = request.target
    if not target.isascii() or re.search(r"[\s\\\x00-\x1f]", target):
        raise ValueError("blanks, backslashes or letters beyond ASCII")
    if request.method == "DNS":
        return "", target.casefold(), 443, False
    if request.method == "CONNECT" and "://" not in target:
        parts = urlsplit(f"//{target}")
        return "", (parts.hostname or "").casefold(), parts.port or 443, parts.username is not None
    parts = urlsplit(target)
    if "://" not in target or not parts.hostname:
        raise ValueError("a scheme and a host are needed")
    default = 80 if parts.scheme == "http" else 443
    port = default if parts.port is None else parts.port
    return parts.scheme.casefold(), parts.hostname.casefold(), port, "@" in parts.netloc


def _judge_host(host: str) -> list[Remark]:
    address = as_address(host)
    if address is not None:
        if not address.is_global or address.is_multicast:
            return [_veto("private address", f"{host} is this host or a private network")]
        return [_more("bare address", "a number instead of a host name")]
    if _OWN.fullmatch(host.rstrip(".")) or "." not in host.rstrip("."):
        return [_veto("own host", f"{host} is this host, its network or its cloud's metadata")]
    if not _HOST.fullmatch(host) or len(host) > 253:
        return [_veto("address", "the host is no plain host name")]
    if any(len(label) > 40 for label in host.split(".")):
        return [_more("long label", "a very long label can carry data out")]
    return []


def is_own(host: str) -> bool:
    """Whether a host is this machine, its network or its cloud's metadata, or no plain host name."""
    return any(remark.decision is Decision.DENY for remark in _judge_host(host))


def as_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address in any form that a C library accepts: dotted, decimal, octal, hexadecimal."""
    plain = host.strip("[]").partition("%")[0]
    try:
        found = ipaddress.ip_address(plain)
    except ValueError:
        return _as_number(plain)
    if isinstance(found, ipaddress.IPv6Address):
        return found.ipv4_mapped or found.sixtofour or _embedded(found) or found
    return found


_TRANSLATED = (
    ipaddress.IPv6Network("64:ff9b::/96"),
    ipaddress.IPv6Network("64:ff9b:1::/48"),
    ipaddress.IPv6Network("::/96"),
)
"""Ranges whose last four bytes are the IPv4 address that is meant (RFC 6052, 8215, 4291)."""


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if int(address) > 1 and any(address in one for one in _TRANSLATED):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def _as_number(host: str) -> ipaddress.IPv4Address | None:
    pieces = host.rstrip(".").split(".")
    if not 1 <= len(pieces) <= 4 or not all(_NUMBER.fullmatch(piece) for piece in pieces):
        return None
    numbers = [_number(piece) for piece in pieces]
    value = numbers[-1]
    for index, number in enumerate(numbers[:-1]):
        value += number << (8 * (3 - index))
    return ipaddress.IPv4Address(value & 0xFFFFFFFF)


def _number(piece: str) -> int:
    if piece[:2] in ("0x", "0X"):
        return int(piece[2:] or "0", 16)
    if piece.startswith("0") and all(digit in "01234567" for digit in piece):
        return int(piece, 8)
    return int(piece)


def _veto(rule: str, reason: str) -> Remark:
    return Remark("veto", Decision.DENY, f"network {rule}", reason)


def _more(rule: str, reason: str) -> Remark:
    return Remark("defaults", Decision.ESCALATE, f"network {rule}", reason)
