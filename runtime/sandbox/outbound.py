"""A connection to a host that a command may reach: looked up once, connected to what was found."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable

from runtime.policy.hosts import as_address
from runtime.policy.reach import Address, Reachable

CONNECT_SECONDS = 15.0
MAX_TRIES = 4
Lookup = Callable[[str, int], list[str]]


class NotReached(Exception):
    """There is no connection, and why. `refused`: it was not tried at all, or may not be."""

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused


def look_up(host: str, port: int) -> list[str]:
    """The addresses of a name, in the order in which they are to be tried. Raises OSError."""
    rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]).partition("%")[0] for row in rows))


def connect(host: str, port: int, reachable: Reachable, lookup: Lookup = look_up) -> socket.socket:
    """A connection to `host` as `reach.spelled` gives it. Raises NotReached."""
    if not reachable.permits(host, port):
        raise NotReached("it is not on the list of this command", refused=True)
    addresses = _addresses(host, port, lookup)
    for address in addresses:  # one that is nobody's to give spoils them all
        if not reachable.permits_address(address, port):
            raise NotReached(f"it is {address}, which is no public address", refused=True)
    until, said = time.monotonic() + CONNECT_SECONDS, "it has no address"
    for address in addresses[:MAX_TRIES]:
        left = until - time.monotonic()
        if left <= 0:
            break
        try:
            made = socket.create_connection((str(address), port), timeout=left)
        except OSError as error:
            said = error.strerror or str(error)
            continue
        if made.getsockname()[0] == made.getpeername()[0] and not reachable.permits(
            str(address), port
        ):
            made.close()
            raise NotReached("it is the machine of the server", refused=True)
        return made
    raise NotReached(f"there was no connection: {said}")


def _addresses(host: str, port: int, lookup: Lookup) -> list[Address]:
    if as_address(host) is not None:
        return [ipaddress.ip_address(host)]
    try:
        return [ipaddress.ip_address(text) for text in lookup(host, port)]
    except (OSError, ValueError) as error:
        raise NotReached(f"its address was not found: {error}") from error
