"""Replace what must not be written, before the first write.

Text: values known to this server, and the shapes of `shapes`. Streams: the tail that could
still become a secret is held back until it is decided.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from runtime.core.errors import BadInput

from . import keyring
from .shapes import ANNOUNCED, BEGUN, NAMED, OPTION, SHAPES, Shape

MIN_KNOWN = 8
"""Known values shorter than this are not looked for: they would hide ordinary words."""
HOLD = 512
"""Characters of a stream without blanks that are held back; no token of a known prefix is longer."""
MAX_HELD = 16_384
"""Characters that are held back at all, while something that may be a secret goes on."""
MAX_STEPS_BACK = 8
"""How often a cut is moved to the front, each time before something else that it would split."""
STEP = 64
"""Characters by which a cut is moved that changes what is seen of its surroundings."""
LOOK_EVERY = 256
"""Characters that must have come before a tail over `HOLD` is looked at again, or a quarter of it."""
_ARGUMENT = "[redacted:argument]"
_KNOWN_NAMES = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_KEY", "_CREDENTIALS")


class Redactor:
    """Redacts text and JSON values. `known` maps a name to a secret value."""

    def __init__(self, known: Mapping[str, str]) -> None:
        pairs = [(value, name) for name, value in known.items() if len(value) >= MIN_KNOWN]
        self._known = sorted(pairs, key=lambda pair: -len(pair[0]))

    def learn(self, known: Mapping[str, str]) -> None:
        """From now on hide these values, too: keys that were read after the start."""
        have = {value for value, _ in self._known}
        new = [(v, name) for name, v in known.items() if len(v) >= MIN_KNOWN and v not in have]
        if new:
            self._known = sorted([*self._known, *new], key=lambda pair: -len(pair[0]))

    @contextmanager
    def hiding(self, raw: Any) -> Iterator[None]:
        """Meanwhile hide, wherever they turn up, the secrets that only their place in `raw` tells,
        such as the argument after `--password`."""
        before = self._known
        own = [(text, "argument") for text in _by_place(raw, self.value(raw))]
        known = [*before, *(pair for pair in own if len(pair[0]) >= MIN_KNOWN)]
        self._known = sorted(known, key=lambda pair: -len(pair[0]))
        try:
            yield
        finally:
            self._known = before

    def text(self, text: str) -> str:
        """The text with every secret replaced by `[redacted:NAME]`."""
        if len(text) < MIN_KNOWN:
            return text
        for value, name in self._known:
            if value in text:
                text = text.replace(value, f"[redacted:{name}]")
        lowered = text.lower()
        for shape in SHAPES:
            if shape.marker in lowered and (shape.marker or NAMED.search(lowered)):
                text = shape.pattern.sub(partial(_replace, shape), text)
        return text

    def value(self, value: Any) -> Any:
        """A JSON value with every string redacted. Returns the same object where nothing changed."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            changed = {key: self.value(item) for key, item in value.items()}
            return changed if any(changed[key] is not value[key] for key in value) else value
        if isinstance(value, (list, tuple)):
            items = self._list(value)
            return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
        return value

    def _list(self, items: Iterable[Any]) -> list[Any]:
        """Elements redacted; an argument after an option such as `--password` whole."""
        result: list[Any] = []
        hide = False
        for item in items:
            option = OPTION.match(item) if isinstance(item, str) else None
            if option and option.group(2):
                result.append(f"{option.group(1)}={_ARGUMENT}")
            elif hide and isinstance(item, str) and item and not item.startswith("-"):
                result.append(_ARGUMENT)
            else:
                result.append(self.value(item))
            hide = option is not None and not option.group(2)
        return result

    def stream(self) -> Stream:
        """A redactor for text that arrives in pieces."""
        return Stream(self)

    def safe_cut(self, text: str) -> int:
        """Where `text`, to which more will come, may be cut without cutting a secret in two."""
        cut = max(_after_last_blank(text), len(text) - HOLD, 0)
        for _ in range(MAX_STEPS_BACK):
            start = self._split_by(text, cut)
            if start < cut:
                cut = start
            elif self._same(text, cut):
                return cut
            else:
                cut = max(cut - STEP, 0)
        return 0  # nothing is, as far as anybody looks

    def _same(self, text: str, cut: int) -> bool:
        """Whether both parts show what the whole does. Where secrets touch, one is seen only once
        another is gone, and what ends or begins at a cut looks like a word of its own."""
        return self.text(text) == self.text(text[:cut]) + self.text(text[cut:])

    def _split_by(self, text: str, cut: int) -> int:
        """Start of the first thing that a cut would split, or the cut itself."""
        starts = [cut]
        if announced := ANNOUNCED.search(text, 0, cut):
            starts.append(announced.start())
        for end in (len(text), cut):  # a known value with blanks in it may go on after the cut
            if (begun := BEGUN.search(text, 0, end)) and begun.start() < cut:
                starts.append(begun.start())
        lowered = text.lower()
        for shape in SHAPES:
            if shape.marker in lowered:
                starts += [
                    match.start()
                    for match in shape.pattern.finditer(text)
                    if match.start() < cut and (cut < match.end() or match.end() == len(text))
                ]
        starts += [start for value, _ in self._known if (start := _begun(value, text, cut)) >= 0]
        return min(starts)


def _by_place(raw: Any, shown: Any) -> Iterator[str]:
    """The strings that redaction hid whole, and of `--name=value` the value."""
    if raw is shown:
        return
    if isinstance(raw, str):
        if shown == _ARGUMENT:
            yield raw
        elif shown.endswith(f"={_ARGUMENT}"):
            yield raw.partition("=")[2]
    elif isinstance(raw, dict):
        for name, item in raw.items():
            yield from _by_place(item, shown[name])
    elif isinstance(raw, (list, tuple)):
        for left, right in zip(raw, shown, strict=True):
            yield from _by_place(left, right)


class Stream:
    """Redacts text in pieces, across their borders. Whole words are decided; a tail waits."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._tail = ""
        self._enough = 0
        self._closed = False

    def feed(self, piece: str) -> str:
        """What may be shown now."""
        if self._closed:
            return ""
        self._tail += piece
        if len(self._tail) < self._enough:
            return ""
        cut = self._redactor.safe_cut(self._tail)
        ready, self._tail = self._tail[:cut], self._tail[cut:]
        held = len(self._tail)
        self._enough = held + max(LOOK_EVERY, held // 4) if held > HOLD else 0
        if len(self._tail) > MAX_HELD:
            # Nothing that long is waited for: what follows is only shown with the whole text.
            self._closed, self._tail = True, ""
            return f"{self._redactor.text(ready)}[redacted:undecided]"
        return self._redactor.text(ready)

    def end(self) -> str:
        """The rest, when nothing more comes."""
        ready, self._tail = self._tail, ""
        return self._redactor.text(ready)


def _after_last_blank(text: str) -> int:
    return len(text) if text[-1:].isspace() else len(text) - len((text.split() or [""])[-1])


def _begun(value: str, text: str, cut: int) -> int:
    """Where a known value begins that a cut splits, be it whole or still coming; else -1."""
    for start in range(max(0, cut - len(value) + 1), cut):
        if text.startswith(value[: len(text) - start], start):
            return start
    return -1


def _replace(shape: Shape, match: re.Match[str]) -> str:
    label = f"[redacted:{shape.name}]"
    if "secret" not in shape.pattern.groupindex:
        return label
    if match.group("secret").startswith("[redacted:"):
        return str(match.group(0))
    start, end = match.span("secret")
    whole, base = match.group(0), match.start()
    return f"{whole[: start - base]}{label}{whole[end - base :]}"


def known_values(environ: Mapping[str, str]) -> dict[str, str]:
    """Secrets of this server's own environment, by the name of their variable."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper().endswith(_KNOWN_NAMES) or name == "M31A_DATABASE_URL"
    }


@cache
def redactor() -> Redactor:
    """The redactor of this process, for the secrets of its environment, its keys, its own key."""
    from django.conf import settings

    try:
        keys = keyring.stored(os.environ)
    except BadInput:
        keys = {}  # such a file is never used, and `doctor` shows what is wrong with it
    known = {**known_values(os.environ), **keys, "site-key": settings.SECRET_KEY}
    return Redactor(known)
