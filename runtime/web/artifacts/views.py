"""`/artifacts/<sha>/`: stored bytes, as a download; or as text, escaped, within bounds.

Bytes come from a model or a repository: nothing of it is ever rendered on this origin.
"""

from __future__ import annotations

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from runtime import blobs
from runtime.models import Artifact, Event, Run
from runtime.present import ansi, text, units
from runtime.web.pages import answers, person, show

VIEW_BYTES = 200_000
VIEW_LINES = 2000
_SHA = re.compile(r"[0-9a-f]{64}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._ -]+")


@require_safe
@answers
def one(request: HttpRequest, sha: str) -> HttpResponse:
    """The bytes, where a run that this person may see refers to them."""
    if not _SHA.fullmatch(sha):
        raise Http404("That is no SHA-256.")
    name = _reference(request, sha)
    data = blobs.get(sha)
    if request.GET.get("view"):
        return _text(request, sha, name, data)
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, _filename(name, sha)) or ""
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cache-Control"] = "private, no-store"
    return response


def _reference(request: HttpRequest, sha: str) -> str:
    """The name by which a visible run refers to these bytes. Raises 404."""
    visible = Run.objects.visible_to(person(request))
    row = Artifact.objects.filter(sha256=sha, run__in=visible).order_by("id").first()
    if row is not None:
        return row.name
    run = visible.filter(pk=request.GET.get("run", "")[:26]).first()
    if (
        run is not None
        and Event.objects.filter(run=run.pk, payload__contains=f'"artifact":"{sha}"').exists()
    ):
        return f"{sha[:12]}.txt"
    raise Http404("No run that you may see refers to such an artifact.")


def _filename(name: str, sha: str) -> str:
    plain = _UNSAFE.sub("_", name.rsplit("/", 1)[-1]).strip(" .")
    return plain[:120] or f"{sha[:12]}.bin"


def _text(request: HttpRequest, sha: str, name: str, data: bytes) -> HttpResponse:
    """The beginning of the bytes as text, with what is left out counted."""
    shown = data[:VIEW_BYTES].decode("utf-8", "replace")
    lines = shown.split("\n")
    shown = "\n".join(lines[:VIEW_LINES])
    left = len(data) - len(shown.encode("utf-8", "replace"))
    context = {
        "sha": sha,
        "name": text.visible(name),
        "run": request.GET.get("run", "")[:26],
        "size": units.size(len(data)),
        "shown": ansi.render(shown),
        "left": units.size(left) if left > 0 else "",
        "binary": b"\0" in data[:8000],
    }
    return show(request, "artifacts/view.html", context)
