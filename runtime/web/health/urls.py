"""Address of the health check."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [path("", views.health, name="health")]
