"""The few icons, as inline SVG of one stroke: they take the colour of the word beside them."""

from __future__ import annotations

from django.utils.safestring import SafeString, mark_safe

_PATHS = {
    "check": "M3 8.5l3.2 3.2L13 4.8",
    "cross": "M4 4l8 8M12 4l-8 8",
    "ask": "M5.6 5.8a2.4 2.4 0 1 1 3.4 2.5c-.8.4-1 .9-1 1.7M8 12.6v.1",
    "up": "M8 13V3.5M4 7.2L8 3l4 4.2",
    "clock": "M8 4.5V8l2.4 1.6M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z",
    "play": "M5 3.5v9l7-4.5z",
    "dot": "M8 9.2a1.2 1.2 0 1 0 0-2.4 1.2 1.2 0 0 0 0 2.4z",
    "stop": "M4 4h8v8H4z",
    "skip": "M4 4l4 4-4 4M9 4l4 4-4 4",
    "retry": "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
    "file": "M4 2h5l3 3v9H4zM9 2v3h3",
    "search": "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.4 10.4L14 14",
    "pen": "M3 13l.6-2.8 7-7 2.2 2.2-7 7zM9.4 4.4l2.2 2.2",
    "terminal": "M3 4.5L6.5 8 3 11.5M8 12h5",
    "branch": "M5 3v10M5 9c0-2 6-1 6-4M5 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z"
    "M5 14a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z",
    "speech": "M2.5 3h11v8H7.5L4.5 13.5V11h-2z",
    "shield": "M8 2l5 1.8v3.7c0 3-2.1 5.2-5 6.5-2.9-1.3-5-3.5-5-6.5V3.8z",
    "seal": "M8 10a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5.5 9.2L5 14l3-1.6L11 14l-.5-4.8",
    "box": "M2.5 5L8 2l5.5 3v6L8 14l-5.5-3zM2.5 5L8 8l5.5-3M8 8v6",
    "person": "M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8zM3 13.8c.6-2.6 2.6-4 5-4s4.4 1.4 5 4",
    "warn": "M8 2.5l6 11H2zM8 6.5v3.2M8 11.6v.1",
    "unknown": "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM5 8h.1M8 8h.1M11 8h.1",
    "runs": "M3 4h10M3 8h10M3 12h6",
    "inbox": "M2.5 9l2-6h7l2 6v4h-11zM2.5 9h3l1 2h3l1-2h3",
    "book": "M3 3h4.2c.5 0 .8.4.8.9V13c0-.6-.4-1-1-1H3zM13 3H8.8c-.5 0-.8.4-.8.9V13c0-.6.4-1 1-1h4z",
    "folder": "M2 4h4.5L8 5.8h6V13H2z",
    "gauge": "M3 12a6 6 0 1 1 10 0M8 10l2.6-3.8",
    "plus": "M8 3v10M3 8h10",
    "copy": "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
    "sun": "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3"
    "M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9",
    "moon": "M13 9.6A5.5 5.5 0 1 1 6.4 3a4.4 4.4 0 0 0 6.6 6.6z",
    "screen": "M2.5 3.5h11v7.5h-11zM6 13.5h4",
    "out": "M9 3H3v10h6M7 8h7M11.5 5.5L14 8l-2.5 2.5",
    "down": "M8 2.5v8M4.5 7.5L8 11l3.5-3.5M3 13.5h10",
}


def icon(name: str) -> SafeString:
    """The icon of a name, hidden from screen readers: a word always stands beside it."""
    return ICONS[name]


def _draw(path: str) -> SafeString:
    return mark_safe(  # constants of this module
        '<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">'
        f'<path d="{path}"/></svg>'
    )


ICONS: dict[str, SafeString] = {name: _draw(path) for name, path in _PATHS.items()}
