"""Address of the demo button."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [path("", views.start, name="demo")]
