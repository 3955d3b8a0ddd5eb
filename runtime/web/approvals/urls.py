"""Addresses of the inbox and of one question."""

from __future__ import annotations

from django.urls import path

from . import deciding, editing, many, views

urlpatterns = [
    path("", views.index, name="approvals"),
    path("count/", views.count, name="approvals-count"),
    path("batch/", many.batch, name="approvals-batch"),
    path("grants/<str:grant_id>/revoke/", many.revoke, name="grant-revoke"),
    path("<str:approval_id>/edit/", editing.edit, name="approval-edit"),
    path("<str:approval_id>/", deciding.one, name="approval"),
]
