"""Light, dark, or as the system: kept in a cookie, so that the server renders it."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from runtime.web.context import THEMES

YEAR = 365 * 24 * 3600


@login_not_required
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the choice and go back to the page."""
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}) or not back.startswith("/"):
        back = "/"
    response = redirect(back)
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        response.set_cookie(
            "theme",
            theme,
            max_age=YEAR,
            samesite="Lax",
            httponly=True,
            secure=settings.SESSION_COOKIE_SECURE,
        )
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response
