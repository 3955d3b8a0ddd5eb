"""What goes over the socket: JSON-RPC 2.0 notifications, both ways."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson
from django.utils.html import format_html

from runtime.core.errors import BadInput
from runtime.journal.rows import EventRow
from runtime.present import events

FACTS = ("message", "action", "approval", "step", "kind", "reason")
"""Payload fields that the browser's module acts on; all of them short."""
MOST_FACT = 200

log = logging.getLogger(__name__)


class Hello(NamedTuple):
    """What a browser holds: `run` is None where it follows the site only."""

    run: str | None
    after: int
    open: dict[str, int]


class Ack(NamedTuple):
    """Everything up to `seq`, and every delta sent before, has arrived."""

    seq: int


def dress(row: EventRow) -> str:
    """An event as one JSON object: number, type, fragment and the few facts a page acts on."""
    given = {name: row.payload.get(name) for name in FACTS}
    facts = {
        name: value
        for name, value in given.items()
        if (isinstance(value, str) and len(value) <= MOST_FACT) or isinstance(value, int)
    }
    head = {"seq": row.seq, "type": row.type, "task": row.task}
    return orjson.dumps({**head, **facts, "html": _fragment(row)}).decode()


def _fragment(row: EventRow) -> str:
    """The row's HTML. A row that cannot be drawn is named, so that the ones after it still come."""
    try:
        return str(events.render(row))
    except Exception:
        log.exception("Event %s of run %s cannot be drawn.", row.seq, row.run)
        text = "This event cannot be drawn; the audit shows it."
        return format_html('<li data-seq="{}">{}: {}</li>', row.seq, row.type, text)


def rows(run: str, dressed: Iterable[str], head: int) -> str:
    """Rows that follow one another, and the number of the last one there is."""
    body = ",".join(dressed)
    name = orjson.dumps(run).decode()
    return (
        '{"jsonrpc":"2.0","method":"live.rows","params":'
        f'{{"run":{name},"head":{head},"rows":[{body}]}}}}'
    )


def note(method: str, **params: Any) -> str:
    """Any other notification."""
    return orjson.dumps({"jsonrpc": "2.0", "method": f"live.{method}", "params": params}).decode()


def read(text: str, most_open: int) -> Hello | Ack:
    """A frame from a browser. Raises `BadInput` for everything but a right hello or ack."""
    try:
        frame = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"The frame is no JSON: {error}.") from error
    if not isinstance(frame, dict) or frame.get("jsonrpc") != "2.0":
        raise BadInput("The frame is no JSON-RPC 2.0 object.")
    params = frame.get("params")
    if not isinstance(params, dict):
        raise BadInput("The frame has no params object.", field="params")
    match frame.get("method"):
        case "live.hello":
            return _hello(params, most_open)
        case "live.ack":
            return Ack(_number(params, "seq"))
        case other:
            raise BadInput(f"Unknown method {str(other)[:40]!r}.", field="method")


def _hello(params: Mapping[str, Any], most_open: int) -> Hello:
    run = params.get("run")
    if run is not None and not (isinstance(run, str) and 0 < len(run) <= 26):
        raise BadInput("run is no run's id.", field="run")
    held = params.get("open") or {}
    if not isinstance(held, dict) or len(held) > most_open:
        raise BadInput(f"open is no object of at most {most_open} messages.", field="open")
    return Hello(
        run,
        _number(params, "after") if run else 0,
        {str(message)[:64]: _number(held, message) for message in held},
    )


def _number(params: Mapping[str, Any], field: str) -> int:
    value = params.get(field)
    if type(value) is not int or not 0 <= value < 2**53:
        raise BadInput(f"{field} is no number from 0 up.", field=field)
    return value
