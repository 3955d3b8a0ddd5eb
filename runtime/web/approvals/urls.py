"""Addresses of the inbox and of one question."""

from __future__ import annotations

from django.urls import path

from . import deciding, views

urlpatterns = [
    path("", views.index, name="approvals"),
    path("count/", views.count, name="approvals-count"),
    path("<str:approval_id>/", deciding.one, name="approval"),
]
