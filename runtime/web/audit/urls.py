"""Addresses of the audit."""

from __future__ import annotations

from django.urls import path

from . import export, views

urlpatterns = [
    path("", views.index, name="audit"),
    path("verify/<str:run_id>/", views.verified, name="audit-verify"),
    path("export/<str:run_id>/", export.download, name="audit-export"),
]
