"""Address of the list of runs."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [path("", views.index, name="runs")]
