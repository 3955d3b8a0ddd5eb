"""The smallest pages that the live module can be watched on: its regions, and nothing else.

The addresses are the product's; the page of a run is rendered up to `?upto=N`.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.html import format_html
from django.utils.safestring import mark_safe

from runtime import approvals
from runtime.journal import read
from runtime.models import Run
from runtime.present import events

SHELL = """<!doctype html><html lang="en"><head><title>{title}</title>
<link rel="icon" href="data:,"><script defer src="/static/runtime/live.js"></script></head><body>
<h1>{title}</h1><span id="inbox-count">{count}</span><p id="live-status">not connected</p>
{body}</body></html>"""


def _page(request: HttpRequest, title: str, body: str) -> HttpResponse:
    count = approvals.waiting(request.user).open
    return HttpResponse(format_html(SHELL, title=title, count=count, body=mark_safe(body)))


def home(request: HttpRequest) -> HttpResponse:
    """A page without a run."""
    return _page(request, "Home", "")


def run_page(request: HttpRequest, run_id: str) -> HttpResponse:
    """The page of a run."""
    rows = read.read(run_id, 0, int(request.GET.get("upto", "0")) or 200)
    body = (
        f"{_state(run_id)}<div id='run-card'><form><input id='comment' name='c'></form></div>"
        f"<div id='earlier'></div><div id='timeline' data-run='{run_id}' data-socket='/rpc' "
        f"data-after='{rows[-1].seq if rows else 0}'><ol>{events.render_all(rows)}</ol></div>"
    )
    return _page(request, "Run", body)


def _state(run_id: str) -> str:
    run = Run.objects.get(pk=run_id)
    return format_html('<p id="run-state">{} at {}</p>', run.state, run.event_seq)


def header(request: HttpRequest, run_id: str) -> HttpResponse:
    """The region with the state."""
    return HttpResponse(_state(run_id))


def card(request: HttpRequest, run_id: str) -> HttpResponse:
    """The region with the card."""
    return HttpResponse("<div id='run-card'>settled</div>")


def count(request: HttpRequest) -> HttpResponse:
    """The number in the navigation."""
    count = approvals.waiting(request.user).open
    return HttpResponse(f"<span id='inbox-count' data-open='{count}'>{count} waiting</span>")


urlpatterns = [
    path("home/", home),
    path("healthz", lambda request: HttpResponse("ok")),
    path("runs/<str:run_id>/", run_page),
    path("runs/<str:run_id>/header/", header),
    path("runs/<str:run_id>/card/", card),
    path("approvals/count/", count),
]
