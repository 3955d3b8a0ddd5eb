"""Every address of the pages."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("runtime.web.runs.urls")),
    path("runs/new", include("runtime.web.new.urls")),
    path("runs/<str:run_id>/", include("runtime.web.run.urls")),
    path("demo/", include("runtime.web.demo.urls")),
    path("approvals/", include("runtime.web.approvals.urls")),
    path("artifacts/", include("runtime.web.artifacts.urls")),
    path("audit/", include("runtime.web.audit.urls")),
    path("policy/", include("runtime.web.policy.urls")),
    path("workspaces/", include("runtime.web.workspaces.urls")),
    path("system/", include("runtime.web.system.urls")),
    path("theme/", include("runtime.web.theme.urls")),
    path("healthz", include("runtime.web.health.urls")),
    path("", include("runtime.web.login.urls")),
]
