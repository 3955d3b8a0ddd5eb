"""Is the server able to answer? Asked by supervisors, without signing in."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@login_not_required
@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 with `{"ok": true}` where the database answers, else 503 naming the fault's kind."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except Error as error:
        return JsonResponse({"ok": False, "database": type(error).__name__}, status=503)
    return JsonResponse({"ok": True})
