"""Address of the form for a new run."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [path("", views.index, name="new")]
