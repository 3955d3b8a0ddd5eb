"""The scripted provider stands in for a model, streams, waits and fails as its script says."""

from __future__ import annotations

import threading
import time

import pytest

from runtime.providers import ProviderError, Usage, load
from runtime.providers.scripted import CHUNK_PAUSE, chunks
from tests.clock import Late, best_of_three, in_time
from tests.providers.raw_server import PROMPT, ask


def scripted(*lines: str) -> object:
    return load("scripted:s.jsonl", script="\n".join(lines).encode(), env={})


def test_M1_script_is_replayed_by_the_count_of_answers_and_requests_are_kept() -> None:
    model = scripted('{"kind": "verify"}', '{"kind": "finish", "summary": "done"}')
    assert ask(model, ordinal=0).action == {"kind": "verify"}
    assert ask(model, ordinal=1).action == {"kind": "finish", "summary": "done"}
    # A crash before the answer was journaled asks for the same line again.
    assert ask(model, ordinal=1).action == {"kind": "finish", "summary": "done"}
    kept = [(request.task_key, request.ordinal, request.prompt) for request in model.requests]
    assert kept == [("main", 0, PROMPT), ("main", 1, PROMPT), ("main", 1, PROMPT)]


def test_M1_script_that_is_over_is_an_error() -> None:
    with pytest.raises(ProviderError) as failure:
        ask(scripted('{"kind": "verify"}'), ordinal=1)
    assert failure.value.kind == "exhausted"
    assert "1 answers for task 'main'; answer 2" in failure.value.message


def test_script_lines_for_another_task_are_passed_over() -> None:
    model = scripted(
        '{"kind": "a", "task": "one"}', '{"kind": "b"}', '{"kind": "c", "task": "two"}'
    )
    assert ask(model, task_key="two", ordinal=0).action == {"kind": "b"}
    assert ask(model, task_key="two", ordinal=1).action == {"kind": "c"}


def test_script_text_streams_in_parts_before_the_answer() -> None:
    said = "I read the failing test first, then the function that it calls. " * 2
    shown: list[str] = []
    answer = ask(scripted(f'{{"kind": "verify", "say": "{said}"}}'), on_text=shown.append)
    assert len(shown) > 3
    assert "".join(shown) == answer.text == said


@pytest.mark.parametrize("length", [0, 1, 25, 4000, 1 << 20])
def test_script_text_of_any_length_streams_within_three_seconds(length: int) -> None:
    parts = list(chunks("ä" * length))
    assert "".join(parts) == "ä" * length
    assert len(parts) * CHUNK_PAUSE <= 3


def test_script_usage_is_given_or_estimated_and_marked() -> None:
    given = '{"kind": "verify", "usage": {"input_tokens": 70, "output_tokens": 9}}'
    assert ask(scripted(given)).usage == Usage(70, 9, estimated=False)
    assert ask(scripted('{"kind": "verify"}')).usage.estimated


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("rate_limit", "rate_limit"),
        ("overload: too many", "overload"),
        ("503", "overload"),
        ("429", "rate_limit"),
        ("unreachable", "unreachable"),
        ("the model spoke Latin", "malformed"),
    ],
)
def test_script_error_line_is_a_typed_failure(text: str, kind: str) -> None:
    with pytest.raises(ProviderError) as failure:
        ask(scripted(f'{{"error": "{text}", "say": "I was about to"}}'))
    assert failure.value.kind == kind
    assert failure.value.partial == "I was about to"
    assert text in failure.value.message


@pytest.mark.parametrize("line", ['"delay_ms": 60000', '"say": "' + "word " * 2000 + '"'])
@best_of_three
def test_A9_script_is_cancelled_at_once(line: str) -> None:
    cancel = threading.Event()
    cancelled_at: list[float] = []

    def press() -> None:
        cancelled_at.append(time.monotonic())
        cancel.set()

    timer = threading.Timer(0.15, press)
    timer.start()
    ended = ""
    try:
        ask(scripted(f'{{"kind": "verify", {line}}}'), cancel=cancel)
    except ProviderError as failure:
        ended = failure.kind
    if not cancelled_at:
        timer.join()
        raise Late(f"it had ended before it was cancelled: {ended}")
    assert ended == "cancelled"
    in_time(cancelled_at[0], 0.2)


@best_of_three
def test_script_delay_beyond_the_time_given_is_a_timeout() -> None:
    started = time.monotonic()
    with pytest.raises(ProviderError) as failure:
        ask(scripted('{"kind": "verify", "delay_ms": 60000}'), timeout=0.1)
    assert failure.value.kind == "timeout"
    in_time(started, 1)


def test_script_answer_beyond_its_bound_is_refused() -> None:
    with pytest.raises(ProviderError) as failure:
        ask(scripted('{"kind": "write_file", "path": "a", "content": "xxxxxxxxxx"}'), max_bytes=20)
    assert failure.value.kind == "size"


def test_script_without_text_costs_next_to_nothing() -> None:
    model = scripted(*['{"kind": "verify"}'] * 400)
    started = time.process_time()
    for ordinal in range(400):
        ask(model, ordinal=ordinal)
    assert (time.process_time() - started) / 400 < 0.001


def test_script_answers_do_not_share_their_action() -> None:
    model = scripted('{"kind": "verify"}')
    action = ask(model).action
    assert isinstance(action, dict)
    action["kind"] = "changed"
    assert ask(model).action == {"kind": "verify"}
