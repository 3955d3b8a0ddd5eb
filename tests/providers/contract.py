"""What every provider keeps to, whoever wrote it: a kit of tests.

A package with a provider of its own copies this file, makes a class from `ProviderContract`, and
gives it a `stage`: how its provider is made to answer, to be silent, to speak without end, to
break off, and to be refused. Nothing else is needed::

    class TestMine(ProviderContract):
        @pytest.fixture
        def stage(self) -> Stage: ...
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from typing import Any, Protocol

import pytest

from runtime.providers import KINDS, Answer, Message, Prompt, Provider, ProviderError
from tests.clock import best_of_three, in_time

PROMPT = Prompt("Be brief.", (Message("user", "Mend the test."),))
ACTION = {"kind": "verify"}
SPOKEN = "I begin "
LONG = 20.0


class Stage(Protocol):
    """One provider, made to do what a test needs. Each method gives it ready to be asked."""

    def answering(self) -> Provider:
        """Says `SPOKEN` (if it says anything), then proposes `ACTION`."""
        ...

    def silent(self) -> Provider:
        """Never answers."""
        ...

    def endless(self) -> Provider:
        """Speaks without end; or, where it cannot stream, sends output without end."""
        ...

    def cut(self) -> Provider:
        """Breaks off after `SPOKEN` and as much of an answer as can be sent before its end."""
        ...

    def failing(self, kind: str) -> Provider | None:
        """Fails as `auth`, `rate_limit` or `overload`; None where it cannot."""
        ...

    def is_free(self) -> bool:
        """Whether nothing on the other side is held any more: no socket, no process."""
        ...


def ask(model: Provider, on_text: Any = None, cancel: Any = None, **bounds: Any) -> Answer:
    """One decision."""
    given = {"ordinal": 0, "task_key": "main", "timeout": LONG, "max_bytes": 1 << 20, **bounds}
    return model.decide(
        PROMPT,
        on_text=on_text or (lambda text: None),
        cancel=cancel or threading.Event(),
        **given,
    )


def soon(holds: Any, seconds: float = 20.0) -> bool:
    """Whether something becomes true."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return bool(holds())  # it may have stood still meanwhile
        time.sleep(0.02)
    return True


class ProviderContract(ABC):
    """Fourteen promises."""

    @abstractmethod
    def stage(self) -> Stage:
        """The provider under test: a fixture of the class that is made from this one."""

    def fails(self, model: Provider, **given: Any) -> ProviderError:
        """The failure of a call; whatever else happens is no contract."""
        with pytest.raises(ProviderError) as failure:
            ask(model, **given)
        found = failure.value
        assert found.kind in KINDS
        assert found.message
        assert found.retry_after is None or found.retry_after >= 0
        assert isinstance(found.retryable, bool)
        return found

    def test_whole_answer_has_one_action_and_a_usage(self, stage: Stage) -> None:
        answer = ask(stage.answering())
        assert (answer.action, answer.error) == (ACTION, None)
        assert answer.usage.input_tokens >= 0
        assert answer.usage.output_tokens >= 0
        assert answer.model.isprintable()

    def test_text_of_an_answer_is_all_that_was_streamed(self, stage: Stage) -> None:
        shown: list[str] = []
        answer = ask(stage.answering(), on_text=shown.append)
        assert "".join(shown) == answer.text
        assert all(isinstance(text, str) and text for text in shown)

    def test_text_is_handed_on_in_the_callers_thread(self, stage: Stage) -> None:
        threads: set[int] = set()
        ask(stage.answering(), on_text=lambda text: threads.add(threading.get_ident()))
        assert threads <= {threading.get_ident()}

    def test_provider_names_its_specification(self, stage: Stage) -> None:
        model = stage.answering()
        assert ":" in model.spec
        assert len(repr(model)) < 500

    @best_of_three
    def test_silence_is_a_timeout_of_its_own(self, stage: Stage) -> None:
        model = stage.silent()
        started = time.monotonic()
        failure = self.fails(model, timeout=0.5)
        assert failure.kind == "timeout"
        assert failure.retryable
        in_time(started, 2.5)
        assert soon(stage.is_free)

    @best_of_three
    def test_endless_speech_does_not_outlive_the_timeout(self, stage: Stage) -> None:
        model = stage.endless()
        started = time.monotonic()
        failure = self.fails(model, timeout=0.7, max_bytes=1 << 30)
        assert failure.kind == "timeout"
        in_time(started, 2.5)
        assert soon(stage.is_free)

    @best_of_three
    def test_cancelled_call_ends_at_once(self, stage: Stage) -> None:
        model, cancel = stage.silent(), threading.Event()
        pressed: list[float] = []

        def press() -> None:
            pressed.append(time.monotonic())
            cancel.set()

        timer = threading.Timer(0.6, press)
        timer.start()
        assert self.fails(model, cancel=cancel).kind == "cancelled"
        in_time(pressed[0], 1.5)
        assert soon(stage.is_free)

    @best_of_three
    def test_call_that_is_cancelled_before_it_begins_asks_nobody(self, stage: Stage) -> None:
        cancel = threading.Event()
        cancel.set()
        started = time.monotonic()
        assert self.fails(stage.silent(), cancel=cancel).kind == "cancelled"
        in_time(started, 1)

    @best_of_three
    def test_answer_beyond_its_bound_is_a_failure(self, stage: Stage) -> None:
        started = time.monotonic()
        failure = self.fails(stage.endless(), max_bytes=2000)
        assert failure.kind == "size"
        assert len(failure.partial) <= 2000
        in_time(started, 10)
        assert soon(stage.is_free)

    def test_answer_that_breaks_off_is_never_a_whole_one(self, stage: Stage) -> None:
        shown: list[str] = []
        failure = self.fails(stage.cut(), on_text=shown.append)
        assert failure.kind in ("cut", "malformed")
        assert failure.partial == "".join(shown)

    @pytest.mark.parametrize("kind", ["auth", "rate_limit", "overload"])
    def test_failure_has_its_kind(self, stage: Stage, kind: str) -> None:
        model = stage.failing(kind)
        if model is None:
            pytest.skip("it cannot fail in this way")
        failure = self.fails(model)
        assert failure.kind == kind
        assert failure.retryable == (kind != "auth")

    def test_what_the_caller_raises_passes_through(self, stage: Stage) -> None:
        class Stale(Exception):
            """As a fence that has moved on."""

        def on_text(text: str) -> None:
            raise Stale

        speaks: list[str] = []
        ask(stage.answering(), on_text=speaks.append)
        if not speaks:
            pytest.skip("it does not stream")
        with pytest.raises(Stale):
            ask(stage.answering(), on_text=on_text)
        assert soon(stage.is_free)

    def test_failed_call_leaves_the_provider_usable(self, stage: Stage) -> None:
        self.fails(stage.cut())
        assert ask(stage.answering()).action == ACTION

    def test_two_threads_may_ask_at_once(self, stage: Stage) -> None:
        model = stage.answering()
        answers: list[Answer] = []
        threads = [threading.Thread(target=lambda: answers.append(ask(model))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
        assert [answer.action for answer in answers] == [ACTION, ACTION]
