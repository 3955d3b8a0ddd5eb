"""How large a text is for a model: never too small an estimate where letters are no measure."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core import letters


def most_tokens(text: str) -> int:
    """As many as a vocabulary of bytes alone makes of what is not ASCII, and of numbers."""
    return sum(len(sign.encode()) for sign in text if not sign.isascii() or sign.isdigit())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abc", 1), ("abcd", 2), ("漢字", 6), ("가", 3), ("é", 2), ("😀", 4), ("2024", 4)],
)
def test_letters_are_three_to_a_token_and_all_else_is_one_to_a_byte(text: str, tokens: int) -> None:
    assert letters.tokens(text) == tokens


@pytest.mark.thorough
@given(st.text(max_size=300))
def test_a_text_is_never_less_than_its_characters_or_than_its_bytes_beyond_ascii(text: str) -> None:
    assert letters.weight(text) >= len(text)
    assert letters.tokens(text) >= most_tokens(text)


@given(st.text(max_size=300), st.text(max_size=50), st.integers(0, 400))
def test_ends_fit_and_are_as_long_as_can_be(text: str, more: str, room: int) -> None:
    head, tail = letters.ends(text, room)
    assert text.startswith(head) and text.endswith(tail)
    assert letters.weight(head) + letters.weight(tail) <= room
    assert letters.weight(text[: len(head) + 1]) > room // 2 or head == text
    assert letters.weight(text + more) == letters.weight(text) + letters.weight(more)


def test_large_texts_are_weighed_at_once() -> None:
    began = time.process_time()
    letters.ends("漢字 and 123 " * 400_000, 16_000)
    letters.weight("漢字 and 123 " * 400_000)
    assert time.process_time() - began < 1
