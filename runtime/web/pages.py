"""What every page does: show a template or its fragment, ask for a right, answer a failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from runtime.core.errors import BadInput, Conflict, M31AError, NotFound, Refused, Unavailable
from runtime.models import Run, User
from runtime.people import rights
from runtime.present import text

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

STATUS: tuple[tuple[type[M31AError], int], ...] = (
    (NotFound, 404),
    (Unavailable, 503),
    (BadInput, 400),
    (Conflict, 409),
    (Refused, 403),
)


def person(request: HttpRequest) -> User:
    """Who is signed in. Pages are only reached signed in."""
    if not isinstance(request.user, User):
        raise PermissionDenied("Sign in first.")
    return request.user


def is_fragment(request: HttpRequest) -> bool:
    """Whether the browser asked for a part of the page only."""
    htmx = getattr(request, "htmx", None)
    if htmx is None or not htmx:
        return False
    return not htmx.history_restore_request and not htmx.boosted


def show(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    fragment: str | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page, or its fragment where htmx asked for that; the page includes the fragment."""
    chosen = fragment if fragment is not None and is_fragment(request) else template
    response = render(request, chosen, dict(context), status=status)
    patch_vary_headers(response, ["HX-Request"])
    response["Cache-Control"] = "no-store"
    return response


def visible_run(request: HttpRequest, run_id: str) -> Run:
    """A run that this person may see. Raises 404 for any other, whether it exists or not."""
    runs = Run.objects.visible_to(person(request)).select_related("workspace")
    run = runs.filter(pk=run_id).first()
    if run is None:
        raise Http404("There is no such run, or it is not yours to see.")
    return run


def needs(codename: str) -> Callable[[View[P]], View[P]]:
    """A page that only people with a permission see; the others read which role helps."""

    def wrap(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            user = person(request)
            if not rights.has(user, codename):
                raise forbidden(user, codename)
            return view(request, *args, **kwargs)

        return guarded

    return wrap


def forbidden(user: User, codename: str) -> PermissionDenied:
    """The refusal that says which role helps."""
    why = f"{rights.lacks(user, codename)} {rights.helps(user, codename)}"
    return PermissionDenied(text.marked(why))


def answers(view: View[P]) -> View[P]:
    """A page whose service may say no: the failure becomes a page with its HTTP status."""

    @wraps(view)
    def answered(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except M31AError as error:
            return failure(request, error)

    return answered


def status_of(error: M31AError) -> int:
    """The HTTP status of a failure."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def failure(request: HttpRequest, error: M31AError) -> HttpResponse:
    """A page that says what happened and what to do."""
    context = {"message": text.marked(error.message), "remedy": text.marked(error.remedy)}
    return show(request, "error.html", context, fragment="_error.html", status=status_of(error))
