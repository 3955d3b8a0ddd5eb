"""The record of a run, as a file of JSON lines that can be checked offline."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import islice

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from runtime.journal import verify
from runtime.web.pages import answers, needs

from .views import check_chain

BATCH = 200


@require_safe
@needs("read_audit")
@answers
def download(request: HttpRequest, run_id: str) -> StreamingHttpResponse:
    """Stream the export; the events of one run never lie in memory together."""
    check_chain(request, run_id)
    lines = verify.export(run_id)
    body = _later(lines) if isinstance(request, ASGIRequest) else _batches(lines)
    response = StreamingHttpResponse(body, content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="{run_id}.ndjson"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


def _batches(lines: Iterator[str]) -> Iterator[str]:
    while batch := "".join(_ended(line) for line in islice(lines, BATCH)):
        yield batch


async def _later(lines: Iterator[str]) -> AsyncIterator[str]:
    batches = _batches(lines)
    while batch := await sync_to_async(_next)(batches):
        yield batch


def _next(batches: Iterator[str]) -> str:
    return next(batches, "")


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n"
