"""Addresses: every page lives in its own folder of `runtime.web`."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("", include("runtime.web.urls"))]
