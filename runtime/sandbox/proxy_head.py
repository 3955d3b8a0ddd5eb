"""The head of a request to the proxy, read strictly: what two programs could read in two ways is
refused. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runtime.policy import reach

HEAD_BYTES = 16 << 10
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_TARGET = re.compile(rb"[\x21-\x7e]{1,8192}")
_AUTHORITY = re.compile(
    rb"\[[0-9A-Fa-f:.]{1,64}\](:[0-9]{1,5})?|[^@:/?#\[\]\\%]{1,255}(:[0-9]{1,5})?"
)
_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,8}")
_SIZE = re.compile(rb"0|[1-9][0-9]{0,14}")
_OWN = frozenset(
    {b"connection", b"proxy-connection", b"keep-alive", b"proxy-authorization", b"te", b"upgrade"}
)
"""Fields for the proxy itself; what Connection names goes, too."""
CHUNKED = -1


class BadRequest(Exception):
    """The request is not passed on; the text says why. `host` and `port` as far as they are known."""

    def __init__(self, reason: str, host: str = "", port: int = 0) -> None:
        super().__init__(reason)
        self.host, self.port = host, port


@dataclass(frozen=True, slots=True)
class Head:
    """A request that could be read. `tunnel`: CONNECT; else `start` and `fields` are what goes on.

    `body`: bytes that follow, or CHUNKED.
    """

    tunnel: bool
    host: str
    port: int
    start: bytes = b""
    fields: tuple[tuple[bytes, bytes], ...] = ()
    body: int = 0

    def encode(self) -> bytes:
        """For the origin, which is told to close the connection after its answer."""
        lines = [self.start, *(name + b": " + value for name, value in self.fields)]
        return b"\r\n".join([*lines, b"Connection: close", b"", b""])


def read(data: bytes) -> Head:
    """A whole head without the empty line that ends it. Raises BadRequest."""
    line, *rest = data.split(b"\r\n")
    words = line.split(b" ")
    if len(words) != 3 or words[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise BadRequest("this is no request of HTTP/1")
    method, target, version = words
    if not _TOKEN.fullmatch(method) or not _TARGET.fullmatch(target):
        raise BadRequest("the request line cannot be read")
    tunnel = method == b"CONNECT"
    authority, path = (target, b"") if tunnel else _absolute(target)
    host, port = _place(authority, None if tunnel else 80)
    try:
        fields = _fields(rest)
        _check_host(fields, host, port, tunnel)
        if tunnel:
            return Head(True, host, port)
        body = _body(fields, version)
    except BadRequest as error:
        raise BadRequest(str(error), host, port) from None
    named = {
        name.strip().lower() for k, v in fields if k == b"connection" for name in v.split(b",")
    }
    kept = tuple((k, v) for k, v in fields if k not in _OWN and (k not in named or k in _NEEDED))
    return Head(False, host, port, method + b" " + path + b" " + version, kept, body)


_NEEDED = frozenset({b"host", b"content-length", b"transfer-encoding"})


def _absolute(target: bytes) -> tuple[bytes, bytes]:
    scheme, mark, rest = target.partition(b"://")
    if not mark:
        raise BadRequest("the request names no host in its first line")
    if scheme.lower() != b"http":
        raise BadRequest("only http is passed on in the clear; use CONNECT for anything else")
    if b"#" in rest:
        raise BadRequest("an address ends before its fragment")
    authority = re.split(rb"[/?]", rest, maxsplit=1)[0]
    path = rest[len(authority) :]
    return authority, path if path.startswith(b"/") else b"/" + path


def _place(authority: bytes, default: int | None) -> tuple[str, int]:
    if not _AUTHORITY.fullmatch(authority):
        why = "a name before the host is refused" if b"@" in authority else "the host is none"
        raise BadRequest(why, authority.decode("latin-1")[:80])
    try:
        found = reach.parse(authority.decode("ascii"))
    except ValueError as error:
        raise BadRequest(str(error), authority.decode("latin-1")[:80]) from None
    if found.ports != reach.WEB_PORTS:
        return found.host, found.ports[0]
    if default is None:
        raise BadRequest("CONNECT needs a port", found.host)
    return found.host, default


def _fields(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    found = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise BadRequest("a header field cannot be read")
        found.append((name.lower(), value.strip(b" \t")))
    return found


def _one(fields: list[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    values = [value for key, value in fields if key == name]
    if len(values) > 1:
        raise BadRequest(f"there is more than one {name.decode()} field")
    return values[0] if values else None


def _check_host(fields: list[tuple[bytes, bytes]], host: str, port: int, tunnel: bool) -> None:
    """The Host field says the same as the target: a server behind many names goes by the field."""
    said = _one(fields, b"host")
    if said is None:
        if tunnel:
            return
        raise BadRequest("there is no Host field")
    if _place(said, port if tunnel else 80) != (host, port):
        raise BadRequest("the Host field names another host than the target")


def _body(fields: list[tuple[bytes, bytes]], version: bytes) -> int:
    length, coding = _one(fields, b"content-length"), _one(fields, b"transfer-encoding")
    if coding is not None:
        # To HTTP/1.0 the coding says nothing: what follows would be another request.
        if length is not None or coding.lower() != b"chunked" or version == b"HTTP/1.0":
            raise BadRequest("the length of the body is ambiguous")
        return CHUNKED
    if length is None:
        return 0
    if not _SIZE.fullmatch(length):
        raise BadRequest("the length of the body cannot be read")
    return int(length)


class Body:
    """Watches a body on its way: what comes after its end is not passed on."""

    def __init__(self, size: int) -> None:
        self._chunked = size == CHUNKED
        self._left = 0 if self._chunked else size
        self._state = "size" if self._chunked else "data"
        self._line = b""
        self.over = not self._chunked and size == 0

    def feed(self, data: bytes) -> None:
        """Look at what is to be passed on. Raises BadRequest where it is no part of this body."""
        if not self._chunked:
            self._left -= len(data)
            if self._left < 0:
                raise BadRequest("a second request on one connection is refused")
            self.over = self._left == 0
            return
        at = 0
        while at < len(data):
            if self.over:
                raise BadRequest("a second request on one connection is refused")
            at = self._chunk(data, at)

    def _chunk(self, data: bytes, at: int) -> int:
        """One step through chunked coding, without extensions or trailers; the new position."""
        if self._left:
            step = min(self._left, len(data) - at)
            self._left -= step
            self._state = "end" if not self._left else "data"
            return at + step
        self._line += data[at : at + 1]
        if self._line.endswith(b"\n") or len(self._line) > 16:
            self._end_of_line(self._line.removesuffix(b"\r\n"), self._line.endswith(b"\r\n"))
            self._line = b""
        return at + 1

    def _end_of_line(self, text: bytes, whole: bool) -> None:
        if whole and self._state == "size" and _CHUNK.fullmatch(text):
            self._left = int(text, 16)
            self._state = "data" if self._left else "last"
        elif whole and self._state in ("end", "last") and not text:
            self.over = self._state == "last"
            self._state = "size"
        else:
            raise BadRequest("the chunks of the body cannot be read")
