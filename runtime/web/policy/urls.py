"""Address of the policy and its lab."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("", views.index, name="policy"),
    path("backtest/", views.backtest, name="policy-backtest"),
]
