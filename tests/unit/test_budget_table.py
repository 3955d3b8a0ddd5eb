"""Budgets as people write them, and what tokens cost."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import budgets
from runtime.core import amounts
from runtime.core.errors import BadInput


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("steps=12", 12),
        ("cost=2.50", 2_500_000),
        ("cost=0.000001", 1),
        ("cost=3", 3_000_000),
        ("wall_seconds=90m", 5400),
        ("cpu_seconds=2h", 7200),
        ("memory_bytes=512M", 512 << 20),
        ("output_bytes=2GiB", 2 << 30),
        ("artifact_bytes=100", 100),
    ],
)
def test_a_budget_is_read_as_people_write_it(text, number):
    assert budgets.parse([text]) == {text.partition("=")[0]: number}


@pytest.mark.parametrize(
    "text",
    ["cost", "gold=1", "cost=", "cost=nan", "cost=1e9999", "cost=-1", "cost=0", "cost=0.0000001",
     "steps=0", "steps=1.5", "steps=10001", "steps=١", "memory_bytes=1X", "wall_seconds=1y",
     "cost=9999999999", "=1", "steps=" + "9" * 400]
)  # fmt: skip
def test_what_is_no_budget_is_bad_input_that_names_it(text):
    with pytest.raises(BadInput) as refused:
        budgets.parse([text])
    assert refused.value.field == "budget" and refused.value.remedy


@given(st.sampled_from([*budgets.BUDGETS]), st.integers(1, 10**12))
def test_every_value_can_be_shown(name, number):
    assert budgets.shown(name, number)


def test_values_are_shown_in_their_units():
    assert budgets.shown("cost", 2_500_000) == "2.50"
    assert budgets.shown("cost", 123) == "0.000123"
    assert budgets.shown("wall_seconds", 5400) == "1.5 h"
    assert budgets.shown("memory_bytes", 2 << 30) == "2 GiB"
    assert budgets.shown("input_tokens", 50_000_000) == "50,000,000"


PARTS = st.dictionaries(
    st.sampled_from(["cost", "wall_ms", "memory_bytes"]), st.integers(0, 10**9)
)  # fmt: skip


@given(st.lists(PARTS, max_size=6))
def test_amounts_add_up_in_any_order_and_peaks_do_not(parts):
    total = amounts.add(*parts)
    assert total == amounts.add(*reversed(parts))
    assert total.get("cost", 0) == sum(part.get("cost", 0) for part in parts)
    assert total.get("memory_bytes", 0) == max([0, *(p.get("memory_bytes", 0) for p in parts)])
    assert amounts.read(amounts.written(total)) == total


def test_a_known_model_has_its_price_and_its_window():
    found = budgets.price("anthropic:claude-sonnet-4-5")
    assert (found.window, found.estimated) == (200_000, False)
    assert found.of(1_000_000, 0) > found.of(100_000, 0) > 0
    assert found.of(1000, 100) == 1000 * 3 + 100 * 15
    assert found.of(1, 0) == 3


def test_an_unknown_model_has_the_price_of_the_settings_and_says_so():
    found = budgets.price("openai:nobody-knows-it")
    assert found.estimated and found.of(1_000_000, 1_000_000) == 30_000_000
    assert found.of(1, 0) == 5 and found.of(0, 0) == 0


def test_models_of_ones_own_machine_cost_nothing():
    found = budgets.price("ollama:some-model")
    assert found.of(10**6, 10**6) == 0 and not found.estimated


@pytest.mark.thorough
def test_the_table_of_prices_is_not_loaded_by_a_command_that_asks_no_model():
    code = (
        "import sys, django; from django.conf import settings; django.setup();"
        "import runtime.budgets, runtime.agent, runtime.runs, runtime.cli.main;"
        "runtime.budgets.price('scripted:x').of(1, 1);"
        "print([name for name in sys.modules if name.startswith('genai_prices')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert done.stdout.strip() == "[]", done.stderr
