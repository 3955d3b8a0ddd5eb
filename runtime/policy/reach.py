"""Which hosts a command may reach through the cage's proxy: one spelling for each, a list, no more.

A host is a name in lower case (IDNA, no last dot) or an address in its shortest form, with its
ports; `*.` before a name only where an operator wrote that. Whatever has another spelling than
these, or stands for an address that is nobody's to give, is refused.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from .hosts import as_address, is_own

WEB_PORTS = (80, 443)
"""Those of a host that is named without one."""
MAX_LISTED = 64
"""Hosts of one list."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_METADATA = ("168.63.129.16/32", "192.0.0.0/24")
"""Of clouds, though the address looks like a public one."""
_CARRIERS = ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
"""Within what is public of IPv6: carriers of other addresses, examples, tests."""
_UNICAST, _TRANSLATED = ipaddress.ip_network("2000::/3"), ipaddress.ip_network("64:ff9b::/96")
_NEVER = tuple(ipaddress.ip_network(text) for text in (*_METADATA, *_CARRIERS))


@dataclass(frozen=True, slots=True, order=True)
class Reach:
    """A host and its ports, as they are compared."""

    host: str
    ports: tuple[int, ...] = WEB_PORTS

    def permits(self, host: str, port: int) -> bool:
        """Whether this is that host, given as `spelled` gives it, at that port."""
        if port not in self.ports:
            return False
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and as_address(host) is None
        return host == self.host

    def text(self) -> str:
        """As it is written: `HOST` for the ports of the web, else `HOST:PORT`."""
        if self.ports == WEB_PORTS:
            return self.host
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.ports[0]}"


def parse(text: str, *, wildcard: bool = False) -> Reach:
    """`HOST` or `HOST:PORT`; with `wildcard` also `*.HOST`. Raises `ValueError` with the reason."""
    host, port = _split(text)
    ports = WEB_PORTS if port is None else (_number(port),)
    below = wildcard and host.startswith("*.")
    plain = spelled(host[2:] if below else host)
    if below:
        if "." not in plain or as_address(plain) is not None:
            raise ValueError("* stands for the names below a host such as example.org, no more")
        plain = f"*.{plain}"
    return Reach(plain, ports)


def _split(text: str) -> tuple[str, str | None]:
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or ":" not in host or (rest and not rest.startswith(":")):
            raise ValueError("an address in brackets is written [ADDRESS] or [ADDRESS]:PORT")
        return host, rest[1:] if rest else None
    if text.count(":") > 1:
        return text, None
    host, colon, port = text.partition(":")
    return host, port if colon else None


def _number(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,4}", text) or int(text) > 65535:
        raise ValueError(f"{text[:20]!r} is no port")
    return int(text)


def spelled(host: str) -> str:
    """The one spelling of a host. Raises `ValueError` where it is none, or an address in another
    than its usual form: decimal, octal, hexadecimal, short, mapped or with a zone."""
    plain = host.lower()
    if not plain.isascii():
        try:
            plain = plain.encode("idna").decode("ascii")
        except UnicodeError as error:
            raise ValueError(f"{host[:80]!r} is no host name") from error
    plain = plain.removesuffix(".")
    address = as_address(plain)
    if address is not None:
        if str(address) != plain:
            raise ValueError(f"{host[:80]!r} is an unusual spelling of the address {address}")
        return plain
    if len(plain) > 253 or not all(_LABEL.fullmatch(label) for label in plain.split(".")):
        raise ValueError(f"{host[:80]!r} is no host name")
    return plain


def is_public(address: Address) -> bool:
    """Whether an address belongs to neither a machine, a private network nor a cloud's metadata.
    One that is translated to IPv4 is as public as that; other carriers of addresses are not."""
    if address in _TRANSLATED:
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    if address.version == 6 and address not in _UNICAST:
        return False
    special = any(address in network for network in _NEVER)
    return address.is_global and not address.is_multicast and not special


@dataclass(frozen=True, slots=True)
class Reachable:
    """A list of hosts."""

    rows: tuple[Reach, ...]

    def permits(self, host: str, port: int) -> bool:
        """Whether a host, given as `spelled` gives it, stands in the list with that port."""
        return any(row.permits(host, port) for row in self.rows)

    def permits_address(self, address: Address, port: int) -> bool:
        """Whether a connection may be made to what a permitted host turned out to be."""
        return is_public(address) or self.permits(str(address), port)

    def texts(self) -> tuple[str, ...]:
        """Each as it is written."""
        return tuple(row.text() for row in self.rows)


def listed(texts: Iterable[str]) -> Reachable:
    """A list as it was written. Raises `ValueError` naming the one that is none."""
    rows = []
    for text in texts:
        try:
            rows.append(parse(text, wildcard=True))
        except ValueError as error:
            raise ValueError(f"{text[:80]!r}: {error}") from error
    if len(rows) > MAX_LISTED:
        raise ValueError(f"{len(rows)} hosts are too many; {MAX_LISTED} can be listed")
    return Reachable(tuple(sorted(set(rows))))


def of_action(named: Iterable[str], registered: Iterable[str]) -> tuple[str, ...]:
    """What an action that needs the network may reach, as it is written: the hosts that it names
    itself, where they are public ones, and those that are registered. `registered` is valid."""
    found = list(listed(registered).rows)
    for name in named:
        try:
            host = parse(name)
        except ValueError:
            continue
        if not is_own(host.host):
            found.append(host)
    return Reachable(tuple(sorted(set(found))[:MAX_LISTED])).texts()


def spoken(text: str) -> str:
    """A host of a list for people."""
    reach = parse(text, wildcard=True)
    ports = " and ".join(map(str, reach.ports))
    return f"{reach.host} (port{'s' if len(reach.ports) > 1 else ''} {ports})"
