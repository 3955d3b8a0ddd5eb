"""Canonical JSON: the bytes of RFC 8785, for the subset that the journal admits."""

from __future__ import annotations

import json
import math
from enum import StrEnum

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.core import canonical
from runtime.core.canonical import MAX_INTEGER, NotCanonical

texts = st.text(st.characters(exclude_categories=["Cs"]))
keys = st.text(st.characters(max_codepoint=127))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner),
    max_leaves=20,
)


@pytest.mark.thorough
@settings(max_examples=150)
@given(values)
def test_the_bytes_are_those_of_rfc_8785(value):
    encoded = canonical.encode(value)
    assert encoded == rfc8785.dumps(value)
    assert canonical.decode(encoded) == value
    assert canonical.text(value).encode() == encoded


def test_every_character_below_256_is_written_as_the_rfc_writes_it():
    everything = "".join(map(chr, range(256))) + "\u2028\u2029\ufeff\U0001f600"
    value = {everything[:128]: everything}
    assert canonical.encode(value) == rfc8785.dumps(value)


def test_keys_are_sorted_and_nothing_is_padded():
    assert canonical.text({"b": [1, True, None], "a": {"z": "é", "B": ""}}) == (
        '{"a":{"B":"","z":"é"},"b":[1,true,null]}'
    )


class Word(StrEnum):
    """A string that is not just a string."""

    ONE = "one"


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        -0.0,
        math.nan,
        math.inf,
        MAX_INTEGER + 1,
        -MAX_INTEGER - 1,
        b"bytes",
        {1, 2},
        Word.ONE,
        ...,
        "\ud800",
        {"é": 1},
        {1: 1},
        {None: 1},
        {"\ud800": 1},
    ],
    ids=repr,
)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"a": [1, v]}], ids=["bare", "deep"])
def test_what_lies_outside_the_subset_is_refused_and_named(value, wrap):
    with pytest.raises(NotCanonical) as caught:
        canonical.encode(wrap(value))
    place = "$.a[1]" if isinstance(wrap(value), dict) and "a" in wrap(value) else "$"
    assert str(caught.value).startswith(place)
    str(caught.value).encode()


def test_the_bounds_of_integers_are_admitted():
    assert canonical.text([MAX_INTEGER, -MAX_INTEGER]) == "[9007199254740991,-9007199254740991]"


@pytest.mark.parametrize("depth", [300, 100_000])
def test_a_value_that_is_nested_too_deeply_is_refused(depth):
    value: list = []
    for _ in range(depth):
        value = [value]
    with pytest.raises(NotCanonical):
        canonical.encode(value)


@pytest.mark.parametrize("text", ["", "{", "{'a':1}", "[1,]", "NaN", '{"a":1}x', "\ufeff1"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError):
        canonical.decode(text)


def test_text_from_elsewhere_is_recognised_as_not_canonical_by_its_bytes():
    spaced = json.dumps({"a": 1})
    assert canonical.text(canonical.decode(spaced)) != spaced
