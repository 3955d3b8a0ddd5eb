"""Where the site listens. The socket is opened before anything else is started."""

from __future__ import annotations

import errno
import ipaddress
import socket

from runtime.core.errors import BadInput

BACKLOG = 128


def check(host: str, *, https: bool) -> None:
    """Refuse to listen beyond this machine without TLS in front. Raises `BadInput`."""
    if not https and not is_loopback(host):
        raise BadInput(
            f"M31A_HOST is {host!r}, which other machines reach, and M31A_HTTPS is off.",
            remedy="Listen on 127.0.0.1, or put a proxy with TLS in front and set M31A_HTTPS=1 "
            "and M31A_ALLOWED_HOSTS.",
            field="host",
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """An open, listening socket (IPv4). Port 0 takes any free one. Raises `BadInput`."""
    if not 0 <= port <= 65535:
        raise BadInput(f"{port} is no port.", remedy="Give one from 0 to 65535.", field="port")
    try:
        found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise BadInput(
            f"The host {host!r} has no IPv4 address: {error}.",
            remedy="Give an IPv4 address of this machine, for example 127.0.0.1.",
            field="host",
        ) from error
    family, kind, protocol, _, place = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _unusable(host, port, error) from error
    return listener


def _unusable(host: str, port: int, error: OSError) -> BadInput:
    if error.errno == errno.EADDRINUSE:
        return BadInput(
            f"Port {port} on {host} is in use.",
            remedy="Stop what listens there, or choose another: --port N, or M31A_PORT=N.",
            field="port",
        )
    if error.errno == errno.EACCES:
        return BadInput(
            f"This account may not listen on port {port}.",
            remedy="Choose one above 1023: --port N, or M31A_PORT=N.",
            field="port",
        )
    return BadInput(
        f"{host} port {port} cannot be used: {error.strerror}.",
        remedy="Give an address of this machine and a free port.",
        field="host",
    )


def nearby(listener: socket.socket) -> tuple[str, int]:
    """Host and port under which this machine reaches the socket."""
    host, port = listener.getsockname()
    if host == "0.0.0.0":
        host = "127.0.0.1"
    return host, port


def public_url(listener: socket.socket, *, https: bool, names: list[str]) -> str:
    """The address that a person opens: the public name behind TLS, else the socket's own."""
    if https and names:
        return f"https://{names[0]}"
    host, port = nearby(listener)
    return f"{'https' if https else 'http'}://{host}:{port}"
