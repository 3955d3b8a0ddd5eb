"""The bounds of one socket. A site may change them by `LIVE_…` settings; tests do."""

from __future__ import annotations

from dataclasses import dataclass, fields

from django.conf import settings


@dataclass(frozen=True)
class Limits:
    """Counts, bytes and seconds of one socket."""

    window: int = 200
    """Rows sent and not yet acknowledged."""
    window_bytes: int = 512 << 10
    """The same in bytes; a frame more may be out."""
    frame_rows: int = 50
    rows_bytes: int = 256 << 10
    """Rows of one frame; a larger single row goes alone."""
    frame_bytes: int = 4096
    """Longest frame that is taken in."""
    speech_bytes: int = 65536
    """Delta text sent between two acknowledgements."""
    open_messages: int = 64
    stall_seconds: float = 60.0
    recheck_seconds: float = 30.0
    beat_seconds: float = 10.0
    hello_seconds: float = 0.2
    """Least time between two hellos that are answered."""
    sockets: int = 10
    """Per user and web process."""


def current() -> Limits:
    """The limits as the settings give them now."""
    named = {field.name: f"LIVE_{field.name.upper()}" for field in fields(Limits)}
    return Limits(
        **{name: getattr(settings, key) for name, key in named.items() if hasattr(settings, key)}
    )
