"""Providers of other packages are found by entry point, and kept within the bounds of a call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.core.errors import BadInput
from runtime.providers import Provider, ProviderError, load
from tests.providers.raw_server import ask


def test_scheme_of_another_package_is_found(installed: Callable[..., Provider]) -> None:
    assert ask(installed("wordy:answer")).model == "wordy"


def test_scheme_of_nobody_is_refused(installed: Callable[..., Provider]) -> None:
    with pytest.raises(BadInput, match="no provider 'wordless'"):
        installed("wordless:x")
    with pytest.raises(BadInput):
        load("wordy :x", env={})


def test_own_schemes_cannot_be_taken_over(
    installed: Callable[..., Provider], tmp_path: object
) -> None:
    points = tmp_path / "wordy-1.0.dist-info" / "entry_points.txt"  # type: ignore[operator]
    points.write_text("[m31a.providers]\nollama = tests.providers.slow_words:Wordy\n")
    assert type(installed("ollama:answer")).__name__ == "HttpProvider"


@pytest.mark.parametrize("spec", ["broken:x", "other:x"])
def test_package_that_cannot_be_used_is_named(
    installed: Callable[..., Provider], spec: str
) -> None:
    with pytest.raises(BadInput, match="slow_words"):
        installed(spec)


@pytest.mark.parametrize("what", ["crash", "lie", "odd", "half", "most"])
def test_whatever_it_does_is_a_failure_of_the_provider(
    installed: Callable[..., Provider], what: str
) -> None:
    with pytest.raises(ProviderError) as failure:
        ask(installed(f"wordy:{what}"))
    assert failure.value.kind == "malformed"
    assert "sk-of-mine" not in str(failure.value)


def test_failure_with_wild_fields_is_one_that_can_be_journaled(
    installed: Callable[..., Provider],
) -> None:
    with pytest.raises(ProviderError) as failure:
        ask(installed("wordy:wild"))
    found = failure.value
    assert (found.kind, found.retry_after, found.partial) == ("malformed", None, "I begin ")
    assert len(str(found)) < 400 and str(found).isprintable()


def test_what_the_caller_raised_comes_back_though_the_package_swallowed_it(
    installed: Callable[..., Provider],
) -> None:
    def tired(text: str) -> None:
        raise InterruptedError("the lease is gone")

    with pytest.raises(InterruptedError):
        ask(installed("wordy:deaf"), on_text=tired)
