"""The cursor of a socket: any mix of sending, losing, acknowledging and coming back is gapless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.errors import BadInput
from runtime.live.cursor import Cursor
from runtime.live.limits import Limits

LIMITS = Limits(window=5, frame_rows=3, window_bytes=1000, speech_bytes=10)
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 9)),
        st.tuples(st.just("send"), st.booleans()),
        st.tuples(st.just("ack"), st.none()),
        st.tuples(st.just("come back"), st.none()),
    ),
    max_size=60,
)


@given(MOVES)
def test_what_the_browser_holds_is_always_the_beginning_of_the_journal(
    moves: list[tuple[str, object]],
) -> None:
    journal, held = 0, [0]
    cursor = Cursor(0, {}, LIMITS, 0.0)
    for move, how in moves:
        if move == "append":
            journal += int(str(how))
        elif move == "send":
            room = cursor.room(journal)
            assert 0 <= room <= LIMITS.frame_rows
            rows = range(cursor.sent + 1, cursor.sent + 1 + room)
            if room:
                cursor.went(rows[-1], 1, 0.0)
            if how:  # it arrives; else the connection is half dead
                held += [row for row in rows if row == held[-1] + 1]
        elif move == "ack":
            cursor.ack(held[-1], 0.0)
        else:
            cursor = Cursor(held[-1], {}, LIMITS, 0.0)
        assert cursor.sent - cursor.acked <= LIMITS.window
        assert held == list(range(len(held)))
    cursor = Cursor(held[-1], {}, LIMITS, 0.0)
    while room := cursor.room(journal):
        held += range(cursor.sent + 1, cursor.sent + 1 + room)
        cursor.went(held[-1], 1, 0.0)
        cursor.ack(held[-1], 0.0)
    assert held == list(range(journal + 1))


def test_a_row_that_was_never_sent_cannot_be_acknowledged() -> None:
    cursor = Cursor(3, {}, LIMITS, 0.0)
    cursor.ack(2, 0.0)
    assert cursor.acked == 3
    with pytest.raises(BadInput):
        cursor.ack(4, 0.0)


def test_only_a_browser_that_is_waited_for_can_stall() -> None:
    cursor = Cursor(0, {}, LIMITS, 0.0)
    assert not cursor.waits(0, {})
    cursor.went(5, 1, 7.0)
    assert not cursor.waits(5, {})
    assert cursor.waits(6, {})
    assert cursor.stalls_at() == 7.0 + LIMITS.stall_seconds
    cursor.ack(5, 9.0)
    assert not cursor.waits(6, {})


def test_speech_goes_on_where_the_browser_is_and_waits_for_its_acknowledgement() -> None:
    cursor = Cursor(0, {"m": 1, "gone": 4}, LIMITS, 0.0)
    said = {"m": ["aaaa", "bbbb", "cccc", "dddd", "eeee"]}
    assert list(cursor.speech(said, 0.0)) == [
        [("m", 2, "bbbb"), ("m", 3, "cccc"), ("m", 4, "dddd")]
    ]
    assert list(cursor.speech(said, 0.0)) == []
    assert cursor.waits(0, said)
    cursor.ack(0, 1.0)
    assert list(cursor.speech(said, 1.0)) == [[("m", 5, "eeee")]]
    assert cursor.held == {"m": 5}
