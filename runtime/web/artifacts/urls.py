"""Address of stored bytes."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [path("<str:sha>/", views.one, name="artifact")]
