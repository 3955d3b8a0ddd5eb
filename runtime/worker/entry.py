"""What the supervisor's children are: the web server and the queue's cluster.

Each is also a command of its own, for systemd and containers.
"""

from __future__ import annotations

import socket
from importlib import import_module
from pathlib import Path
from typing import Any

from channels.routing import get_default_application
from django.conf import settings
from django.db import connections
from django_q.cluster import Cluster

from runtime import gating, providers
from runtime.core.errors import BadInput
from runtime.worker import address, death, shutdown
from runtime.worker import reconcile as reconciler

LARGEST_FRAME = 4 << 20
"""Bytes of the largest WebSocket message, in both directions: the server's own rows count, too.

What a browser may send is far less, and the consumer refuses more."""


def web(host: str, port: int, descriptor: int | None) -> int:
    """Serve the site until SIGTERM, on an inherited socket or one of its own."""
    address.check(host, https=settings.M31A.HTTPS)
    gating.policies.require()
    listener = _inherited(descriptor) if descriptor is not None else address.listen(host, port)
    # WhiteNoise warns where it is missing, although it serves from the sources as well.
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)
    # Daphne installs its event loop when it is imported, so only this process may import it.
    from daphne.server import Server

    server: Any = Server(
        application=get_default_application(),
        endpoints=[f"fd:fileno={listener.fileno()}"],
        http_timeout=120,
        websocket_max_message_size=LARGEST_FRAME,
        websocket_max_frame_size=LARGEST_FRAME,
        application_close_timeout=2,
        verbosity=1,
        server_name="m31a",
    )
    server.run()
    return 0


def _inherited(descriptor: int) -> socket.socket:
    try:
        return socket.socket(fileno=descriptor)
    except OSError as error:
        raise BadInput(
            f"--fd {descriptor} is no open socket.", remedy="Leave it out.", field="fd"
        ) from error


def cluster() -> int:
    """Run the queue's workers until SIGTERM. They die with this process, whatever ends it.

    Raises `PolicyFault` where the rules cannot be used.
    """
    gating.policies.require()
    connections.close_all()  # none may be shared with the workers that are forked
    death.of_forks_too()
    shutdown.listen()
    # Loaded before the workers are forked, so that a new one is ready at once.
    import_module("runtime.worker.wakeup")
    providers.warm(settings.M31A.PROVIDER)
    started = Cluster()
    started.start()
    started.sentinel.join()  # it returns once its processes are there; they die with this one
    return 0


def reconcile() -> int:
    """Run the reconciler until SIGTERM. Raises `PolicyFault` where the rules cannot be used."""
    gating.policies.require()
    reconciler.run()
    return 0
