"""Reading an action out of what a model wrote: a tool call, or JSON in its text. Pure.

Models without tools answer in text, so text is shown only up to where an action may begin: a
line that starts with `{` or with a JSON fence. What follows is judged when the answer is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from runtime.providers.schema import field_names

TOOL = "act"
_PIECES = re.compile(r"[^\n]*\n|[^\n]+")
_STARTS = re.compile(r"[ \t]*(?:\{|```(?:json)?[ \t\r]*\n)", re.IGNORECASE)
_MAY_START = re.compile(
    r"[ \t]*(?:`{0,3}|```(?:j|js|jso|json)[ \t\r]*|```[ \t\r]*)\Z", re.IGNORECASE
)
_FENCE_OPENS = re.compile(r"\s*```(?:json)?[ \t\r]*\n", re.IGNORECASE)
_FENCE_CLOSES = re.compile(r"^[ \t]*```[ \t\r]*$", re.MULTILINE)
_ANOTHER = re.compile(r"^" + _STARTS.pattern, re.MULTILINE | re.IGNORECASE)
_MAX_UNDECIDED = 100
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Found:
    """An action, or why there is none; `text` is what turned out to be meant for people."""

    action: object = None
    error: str | None = None
    text: str = ""


class Repair:
    """Makes streamed text valid Unicode, as servers may cut a character in two between parts."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Take the next part; return what is whole, with a mark for what is no character."""
        if text.isascii() and not self._half and "\0" not in text:
            return text
        text = self._half + text
        self._half = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = text.removesuffix(self._half)
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole.replace("\0", "\ufffd")


class TextSplitter:
    """Passes streamed text through until an action may begin, and holds back the rest."""

    def __init__(self) -> None:
        self._undecided = ""
        self._held: list[str] = []
        self._inside_line = False

    @property
    def held(self) -> str:
        """The text that was not shown: perhaps an action."""
        return "".join(self._held) + self._undecided

    def feed(self, text: str) -> str:
        """Take the next part of the text; return what can be shown now."""
        if self._held:
            self._held.append(text)
            return ""
        shown: list[str] = []
        for piece in _PIECES.finditer(text):
            if self._inside_line:
                shown.append(piece[0])
            else:
                self._undecided += piece[0]
                if _STARTS.match(self._undecided):
                    self._held += [self._undecided, text[piece.end() :]]
                    self._undecided = ""
                    break
                if self._still_open():
                    continue
                shown.append(self._undecided)
                self._undecided = ""
            self._inside_line = not piece[0].endswith("\n")
        return "".join(shown)

    def _still_open(self) -> bool:
        """Whether the line so far could yet become the start of an action."""
        short = len(self._undecided) <= _MAX_UNDECIDED
        return short and _MAY_START.match(self._undecided) is not None


def from_calls(calls: Sequence[tuple[str, str | Mapping[str, object] | None]]) -> Found:
    """The action of an answer's tool calls, each a name and its arguments (mostly still JSON)."""
    if len(calls) != 1:
        return Found(error=f"The answer calls {len(calls)} tools; call `{TOOL}` once per answer.")
    name, arguments = calls[0]
    if name != TOOL:
        return Found(error=f"There is no tool of that name; call `{TOOL}`.")
    try:
        if isinstance(arguments, Mapping):
            arguments = orjson.dumps(arguments).decode()
        value = orjson.loads(arguments or "")
    except TypeError:
        return Found(error=f"The arguments of `{TOOL}` are not valid JSON.")
    except orjson.JSONDecodeError as fault:
        return Found(error=f"The arguments of `{TOOL}` are not one JSON object: {_where(fault)}.")
    if not isinstance(value, dict):
        return Found(error=f"The arguments of `{TOOL}` are not a JSON object.")
    return Found(action=_without_nulls(value))


def from_text(held: str) -> Found:
    """The action in text that was held back. Text that is none comes back to be shown."""
    if not held.strip():
        return Found(error=f"The answer holds no action; call `{TOOL}` once.", text=held)
    opening = _FENCE_OPENS.match(held)
    if opening:
        closing = _FENCE_CLOSES.search(held, opening.end())
        body = held[opening.end() : closing.start() if closing else len(held)]
        rest = held[closing.end() :] if closing else ""
    else:
        end = _end_of_object(held)
        body, rest = held[:end], held[end:]
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as fault:
        reason = f"The answer holds no action: its text is not one JSON object: {_where(fault)}."
        return Found(error=reason, text=held)
    if not isinstance(value, dict):
        return Found(error="The answer's JSON is not an object.", text=held)
    if _ANOTHER.search(rest.lstrip()):
        return Found(error="The answer holds two JSON values; give one action.", text=held)
    return Found(action=_without_nulls(_unwrapped(value)), text=rest if rest.strip() else "")


def _end_of_object(text: str) -> int:
    """Where the JSON object that `text` begins with ends; the whole length where it is none."""
    start = len(text) - len(text.lstrip())
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return len(text)


def _unwrapped(value: dict[str, object]) -> dict[str, object]:
    """The arguments, where a model without tools wrote out the call of our tool."""
    if value.get("name") == TOOL and "kind" not in value:
        arguments = value.get("arguments", value.get("parameters"))
        if isinstance(arguments, dict):
            return arguments
    return value


def _without_nulls(value: dict[str, object]) -> dict[str, object]:
    """Without the fields of other actions that a model filled with null; null is never a value."""
    names = field_names()
    return {name: item for name, item in value.items() if item is not None or name not in names}


def _where(fault: orjson.JSONDecodeError) -> str:
    return f"{fault.msg} (line {fault.lineno}, column {fault.colno})"
