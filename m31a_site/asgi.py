"""The door for Daphne: pages by HTTP, the live stream by WebSocket."""

from __future__ import annotations

import os
from typing import Any

from django.core.asgi import get_asgi_application


def _sockets() -> Any:
    """The routes of sockets. They import models, so this comes after the applications' set-up."""
    from channels.auth import AuthMiddlewareStack
    from channels.routing import URLRouter
    from channels.security.websocket import AllowedHostsOriginValidator

    from runtime.live import routing

    return AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(routing.urlpatterns)))


def _application() -> Any:
    from channels.routing import ProtocolTypeRouter

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "m31a_site.settings")
    pages = get_asgi_application()
    return ProtocolTypeRouter({"http": pages, "websocket": _sockets()})


application = _application()
