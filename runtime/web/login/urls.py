"""Addresses of signing in and out."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("login/", views.SignIn.as_view(), name="login"),
    path("logout/", views.sign_out, name="logout"),
    path("password/", views.password, name="password"),
]
