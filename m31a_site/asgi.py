"""The door for Daphne: pages by HTTP, the live stream by WebSocket."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "m31a_site.settings")
http = get_asgi_application()

# Only now: these import models, which need the applications to be ready.
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

from runtime.live import routing

application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter(routing.urlpatterns))
        ),
    }
)
