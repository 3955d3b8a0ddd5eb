"""Address of the light and dark switch."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [path("", views.choose, name="theme")]
