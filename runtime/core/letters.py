"""How much of a model's window a text takes, before anybody has counted its tokens. Pure.

The measure is the letter: three of them are a token, which is more than any common tokenizer makes
of prose and code. A digit, and each byte of what is not ASCII, is taken for a token of its own: no
tokenizer that works on bytes makes more of it, and small models do make as much of Chinese text.
"""

from __future__ import annotations

PER_TOKEN = 3
"""Letters to a token."""
_HEAVY = b"0123456789" + bytes(range(128, 256))


def weight(text: str) -> int:
    """The size of a text in letters; never less than its characters."""
    data = text.encode("utf-8", "surrogatepass")
    light = len(data.translate(None, _HEAVY))
    return light + PER_TOKEN * (len(data) - light)


def tokens(text: str) -> int:
    """The tokens of a text: about as many, and rather too many."""
    return -(-weight(text) // PER_TOKEN)


def ends(text: str, room: int) -> tuple[str, str]:
    """Head and tail of a text that is too large for `room` letters, each half as large."""
    half = room // 2
    near, far = text[:half], text[-half:] if half else ""  # no character is less than a letter
    return near[: _fitting(near, half)], far[::-1][: _fitting(far[::-1], half)][::-1]


def _fitting(text: str, room: int) -> int:
    """How many of its first characters fit into `room` letters."""
    least, most = 0, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        if weight(text[:middle]) <= room:
            least = middle
        else:
            most = middle - 1
    return least
