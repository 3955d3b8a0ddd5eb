"""The bundled run, for whoever wants to see one."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from runtime.runs import demo
from runtime.web.pages import answers, needs, person


@require_POST
@needs("submit_run")
@answers
def start(request: HttpRequest) -> HttpResponse:
    """Register the sample workspace, submit the sample run, and show it."""
    submitted = demo.submit_demo(person(request))
    return redirect("run", submitted.run.pk)
