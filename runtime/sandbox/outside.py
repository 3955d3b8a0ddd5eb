"""What of the outside one command may reach: nothing, or some hosts by a proxy of its own."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from runtime.core.errors import BadInput, Refused
from runtime.policy import reach
from runtime.sandbox import backends, wire
from runtime.sandbox.prepared import Facts
from runtime.sandbox.proxy import Proxy

_PROXIED = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_OWN = ("localhost", "127.0.0.1", "::1")
"""The cage's own: reached without a proxy, unless the list names the machine's."""


class Gate:
    """The way out of one command. A context manager around its execution.

    Raises BadInput for a list that cannot be read.
    """

    def __init__(self, hosts: Sequence[str]) -> None:
        try:
            self._reachable = reach.listed(hosts)
        except ValueError as error:
            raise BadInput(f"The hosts of a command: {error}.", field="hosts") from error
        self._proxy: Proxy | None = None
        self.contacts: tuple[dict[str, str | int], ...] = ()

    @property
    def listens(self) -> bool:
        """Whether there is a way out at all."""
        return bool(self._reachable.rows)

    @property
    def env(self) -> dict[str, str]:
        """What tells programs of the proxy."""
        if not self.listens:
            return {}
        listed = {row.host for row in self._reachable.rows}
        found = dict.fromkeys(_PROXIED, f"http://127.0.0.1:{wire.PROXY_PORT}")
        found["NO_PROXY"] = ",".join(host for host in _OWN if host not in listed)
        return found | {name.lower(): value for name, value in found.items()}

    @property
    def facts(self) -> Facts:
        """What is attested beyond that there is no other network."""
        if not self.listens:
            return {}
        return {"network": "hosts", "network_hosts": " ".join(self._reachable.texts())}

    def check(self, backend: str) -> None:
        """Raise Refused where a backend cannot hold a command to some hosts. Where somebody has
        accepted that there are no walls, the network is the machine's, and no proxy is needed."""
        if backend == backends.NONE:
            self._reachable = reach.Reachable(())
        if self.listens and backend != backends.BUBBLEWRAP:
            raise Refused(
                f"The command needs a network to some hosts, and {backend} cannot hold it to them;"
                " it was not executed.",
                remedy="Use a machine on which bubblewrap works; `m31a doctor` says what it needs.",
            )

    def serve(self, listener: socket.socket) -> None:
        """The command is about to start: this is the socket that it finds its proxy at."""
        self._proxy = Proxy(listener, self._reachable)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._proxy is not None:
            self.contacts = tuple(contact.facts() for contact in self._proxy.close())
