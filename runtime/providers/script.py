"""Scripts: JSON lines that stand for the answers of a model.

Each line is an action, optionally with `say` (text that is streamed before it), `usage`,
`delay_ms` and `task` (only for the task of that key), or `{"error": "…"}` in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from runtime.core.errors import BadInput
from runtime.providers.base import KINDS, Kind, ProviderError

MAX_SCRIPT = 16 << 20
MAX_DELAY_MS = 600_000
MAX_TOKENS = 1_000_000_000
_USAGE_FIELDS = {"input_tokens", "output_tokens"}
_STATUS_KINDS: dict[str, Kind] = {
    "400": "bad_request",
    "401": "auth",
    "403": "auth",
    "408": "timeout",
    "429": "rate_limit",
    "500": "overload",
    "502": "overload",
    "503": "overload",
    "504": "overload",
    "529": "overload",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One answer of a script. `action` is None where `error` is not."""

    number: int
    action: dict[str, Any] | None
    error: str | None
    say: str
    delay: float
    """Seconds before anything comes."""
    usage: tuple[int, int] | None
    """Input and output tokens."""
    task: str | None


def parse(data: bytes) -> tuple[Line, ...]:
    """The lines of a script. Raises `BadInput` that names the first bad line and its fault."""
    if len(data) > MAX_SCRIPT:
        raise BadInput(
            f"The script has {len(data)} bytes; at most {MAX_SCRIPT} are read.",
            remedy="Give a shorter one.",
            field="provider",
        )
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise _bad(data.count(b"\n", 0, error.start) + 1, "is not valid UTF-8") from None
    rows = enumerate(data.split(b"\n"), start=1)
    lines = tuple(_line(number, row) for number, row in rows if row.strip())
    if not lines:
        raise BadInput(
            "The script has no line.",
            remedy='Write one JSON object per line, such as {"kind": "finish", "summary": "…"}.',
            field="provider",
        )
    return lines


def check_script(data: bytes) -> None:
    """Raise `BadInput`, naming line and fault, unless `data` is a script that can be played.

    Actions are not held against their schema: a script may propose what the runtime must refuse.
    """
    parse(data)


def sequence(lines: tuple[Line, ...], task_key: str | None) -> tuple[Line, ...]:
    """The lines that a task plays, in file order: those for every task, and those for its key."""
    return tuple(line for line in lines if line.task is None or line.task == task_key)


def failure(line: Line, partial: str) -> ProviderError:
    """The failure that an error line stands for: its first word is a kind or an HTTP status."""
    text = line.error or ""
    word = text.split(":", 1)[0].strip()
    kind: Kind = _STATUS_KINDS.get(word, "malformed")
    if word in KINDS:
        kind = word  # type: ignore[assignment]
    return ProviderError(kind, f"The script says: {text}", partial=partial)


def _line(number: int, row: bytes) -> Line:
    try:
        value = orjson.loads(row)
    except orjson.JSONDecodeError as fault:
        raise _bad(number, f"is not JSON: {fault.msg} at column {fault.colno}") from None
    if not isinstance(value, dict):
        raise _bad(number, "is not a JSON object")
    if ("kind" in value) == ("error" in value):
        raise _bad(number, 'needs either "kind" (an action) or "error"')
    say = _text(number, value, "say")
    delay = _integer(number, value.pop("delay_ms", 0), "delay_ms", MAX_DELAY_MS) / 1000
    usage = _usage(number, value.pop("usage", None))
    task = _text(number, value, "task")
    error = _text(number, value, "error")
    if error is not None and value:
        raise _bad(number, f'has "{min(value)}" beside "error"')
    return Line(
        number=number,
        action=value if error is None else None,
        error=error,
        say=say or "",
        delay=delay,
        usage=usage,
        task=task,
    )


def _text(number: int, value: dict[str, Any], name: str) -> str | None:
    if name not in value:
        return None
    text = value.pop(name)
    if not isinstance(text, str):
        raise _bad(number, f'needs a string in "{name}"')
    return text


def _integer(number: int, value: object, name: str, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise _bad(number, f'needs an integer from 0 to {most} in "{name}"')
    return value


def _usage(number: int, value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != _USAGE_FIELDS:
        raise _bad(number, 'needs "input_tokens" and "output_tokens", no more, in "usage"')
    read = _integer(number, value["input_tokens"], "usage.input_tokens", MAX_TOKENS)
    written = _integer(number, value["output_tokens"], "usage.output_tokens", MAX_TOKENS)
    return read, written


def _bad(number: int, fault: str) -> BadInput:
    return BadInput(
        f"Line {number} of the script {fault}.",
        remedy="Correct that line and submit again.",
        field="provider",
    )
