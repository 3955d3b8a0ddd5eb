"""What every page shows around its content."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from runtime import approvals
from runtime.models import User
from runtime.present.icons import ICONS

THEMES = ("light", "dark")
_NAVIGATION = (
    ("runs", "Runs", "runs"),
    ("approvals", "Approvals", "inbox"),
    ("audit", "Audit", "book"),
    ("policy", "Policy", "shield"),
    ("workspaces", "Workspaces", "folder"),
    ("system", "System", "gauge"),
)
_BELONGS = {"new": "runs", "run": "runs", "approval": "approvals"}


def site(request: HttpRequest) -> dict[str, Any]:
    """Theme, navigation, the number of open questions, and the nonce of the policy.

    It is read when a template first asks for it: a fragment that does not, pays nothing.
    """
    theme = request.COOKIES.get("theme", "")
    return {
        "theme": theme if theme in THEMES else "",
        "icons": ICONS,
        "navigation": _navigation(request),
        "inbox": SimpleLazyObject(lambda: _waiting(request)),
        "csp_nonce": getattr(request, "csp_nonce", None),
    }


def _waiting(request: HttpRequest) -> approvals.Waiting:
    user = getattr(request, "user", None)
    return approvals.waiting(user) if isinstance(user, User) else approvals.Waiting(0, 0)


def _navigation(request: HttpRequest) -> list[dict[str, Any]]:
    match = request.resolver_match
    page = (match.view_name if match else "").split("-")[0]
    current = _BELONGS.get(page, page)
    return [
        {
            "name": name,
            "url": reverse(name),
            "label": label,
            "icon": ICONS[icon],
            "current": name == current,
        }
        for name, label, icon in _NAVIGATION
    ]
