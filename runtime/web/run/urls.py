"""Addresses below one run."""

from __future__ import annotations

from django.urls import path

from . import views, wishes

urlpatterns = [
    path("", views.index, name="run"),
    path("header/", views.header, name="run-header"),
    path("card/", views.card, name="run-card"),
    path("earlier/", views.earlier, name="run-earlier"),
    path("cancel/", wishes.cancel, name="run-cancel"),
    path("budget/", wishes.budget, name="run-budget"),
    path("retry/", wishes.retry, name="run-retry"),
]
