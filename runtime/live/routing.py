"""Addresses of sockets."""

from __future__ import annotations

from django.urls import path, re_path

from .consumer import LiveConsumer, Nowhere

urlpatterns = [
    path("rpc", LiveConsumer.as_asgi()),
    re_path(r"", Nowhere.as_asgi()),
]
