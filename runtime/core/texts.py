"""Texts of people, before they are kept."""

from __future__ import annotations

from .errors import BadInput


def check(text: str, field: str) -> None:
    """Raise `BadInput` naming the field where a text is none that every store can hold."""
    if "\0" in text:
        raise BadInput(f"{field}: it holds a NUL character.", remedy="Leave that out.", field=field)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput(
            f"{field}: it is no valid Unicode text.", remedy="Write it in UTF-8.", field=field
        ) from None
