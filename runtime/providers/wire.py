"""The connection to a model server: what comes in is counted, and what is too much ends it."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

import httpx2

from runtime.providers.base import Kind

CONNECT_SECONDS = 10.0
_TOO_LATE = frozenset({408, 504, 524})
"""Statuses of a server in between, which did not wait for what may have been done."""


@dataclass(slots=True)
class Wire:
    """What happened on the connection of one call."""

    max_bytes: int
    received: int = 0
    """Bytes of response body, as they came."""
    answered: bool = False
    """Whether the head of a response arrived."""
    began: bool = False
    """Whether the model may have been at work by what that head says."""
    fault: Literal["size", "malformed"] | None = None
    """Why we ended the connection, where we did."""


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Plain HTTP or HTTPS without proxy or retry; counts into a `Wire`."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._inner = httpx2.AsyncHTTPTransport(verify=_trusted(), trust_env=False, retries=0)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request, and give a response whose body stops at the bound."""
        # A compressed body could be small here and endless once unpacked.
        request.headers["Accept-Encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        self._wire.answered = True
        self._wire.began = response.status_code == 200 or response.status_code in _TOO_LATE
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            self._wire.fault = "malformed"
            await response.stream.aclose()
            raise httpx2.DecodingError("compressed although asked not to", request=request)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_BoundedStream(response.stream, self._wire),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, wire: Wire) -> None:
        self._inner = inner
        self._wire = wire

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._wire.received += len(chunk)
            if self._wire.received > self._wire.max_bytes:
                self._wire.fault = "size"
                raise httpx2.ReadError("more bytes than the caller takes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


@cache
def _trusted() -> ssl.SSLContext:
    """The system's certificates; reading them takes longer than a local call, so once."""
    return httpx2.create_ssl_context(trust_env=False)


def client(wire: Wire, timeout: float) -> httpx2.AsyncClient:
    """An HTTP client for one call: no redirects, no proxy, no cookies kept, at most `timeout` s."""
    return httpx2.AsyncClient(
        transport=BoundedTransport(wire),
        timeout=httpx2.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        follow_redirects=False,
        trust_env=False,
    )


def kind_of(error: Exception, wire: Wire) -> Kind:
    """What kind of failure an error of the client amounts to."""
    if wire.fault is not None:
        return wire.fault
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return "unreachable"
    if isinstance(error, httpx2.TimeoutException):
        return "timeout"
    if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
        return "cut"
    return "malformed"
