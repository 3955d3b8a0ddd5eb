"""`cli:agy` against a program that honours its contract, confined as the real one would be."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.core.errors import BadInput
from runtime.providers import Provider, ProviderError, Usage
from runtime.providers.agy_contract import LONGEST_ARGUMENT
from tests.clock import best_of_three, in_time
from tests.providers.agy_kit import for_task
from tests.providers.raw_server import ask

WAYS = ["stdin", "argument"]


def failure_of(model: Provider, task: str, **bounds: Any) -> ProviderError:
    with pytest.raises(ProviderError) as failure:
        ask(model, prompt=for_task(task), **bounds)
    return failure.value


@pytest.mark.parametrize("way", WAYS)
def test_P2_action_and_tokens_are_read_from_a_good_envelope(
    agy: Callable[..., Provider], way: str
) -> None:
    answer = ask(agy(way, M31A_AGY_MODEL="some-model"), prompt=for_task("read"), timeout=20)
    assert answer.action == {"kind": "read_file", "path": "app/views.py"}
    assert answer.usage == Usage(812, 19, estimated=False)
    assert (answer.model, answer.text, answer.error) == ("some-model", "", None)


def test_words_stream_before_the_action(agy: Callable[..., Provider]) -> None:
    shown: list[str] = []
    answer = ask(agy("stdin"), prompt=for_task("speak"), timeout=20, on_text=shown.append)
    assert answer.action == {"kind": "verify"}
    assert "".join(shown) == answer.text == "I look first.\n"
    assert len(shown) == 2


@pytest.mark.parametrize("way", WAYS)
def test_F55_program_sees_its_credentials_and_nothing_of_the_servers(
    agy: Callable[..., Provider], way: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-server")
    ask(agy(way), prompt=for_task("surroundings", "one", "two"), timeout=20.7)
    seen = json.loads((home / "seen.json").read_text())
    assert seen["cwd"] == []
    assert seen["home"] == ["token.json"]
    assert seen["uid"] != 0
    assert "sk-of-the-server" not in json.dumps(seen)
    assert not {name for name in seen["env"] if name.startswith(("M31A_", "OPENAI_", "DJANGO_"))}
    assert seen["facts"] == {
        "task": "surroundings",
        "allowed_programs": ["pytest", "git"],
        "verification_programs": ["pytest -q"],
        "observations": ["one", "two"],
    }
    assert seen["schema"]["properties"]["args"]["maxItems"] == 32
    assert seen["timeout"] in ("20s", "19s")
    assert seen["model"] is None
    shown = "Context JSON" in json.dumps([seen["argv"], seen["command_lines"]])
    assert shown == (way == "argument")


def test_prompt_takes_the_way_that_the_program_offers(
    agy: Callable[..., Provider], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.providers.agy.HELP_SECONDS", 20.0)
    for name, piped in (("agy", True), ("agy-old", False)):
        ask(agy("auto", name), prompt=for_task("surroundings"), timeout=20)
        seen = json.loads((home / "seen.json").read_text())
        assert ("--input-format" in seen["argv"]) == piped


def test_prompt_beyond_one_argument_goes_by_standard_input(
    agy: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.providers.agy.HELP_SECONDS", 20.0)
    prompt = for_task("read", "x" * 3_000_000)
    assert ask(agy("auto"), prompt=prompt, timeout=20).error is None


def test_prompt_beyond_one_argument_is_refused_where_there_is_no_other_way(
    agy: Callable[..., Provider],
) -> None:
    with pytest.raises(ProviderError) as failure:
        ask(agy("auto", "agy-old"), prompt=for_task("read", "x" * LONGEST_ARGUMENT), timeout=20)
    assert failure.value.kind == "context_length"
    assert "131071" in failure.value.message


@pytest.mark.parametrize("way", WAYS)
@best_of_three
def test_P3_slow_program_is_a_timeout_and_is_gone(agy: Callable[..., Provider], way: str) -> None:
    model = agy(way)
    ask(model, prompt=for_task("read"), timeout=20)
    started = time.monotonic()
    failure = failure_of(model, "sleep", timeout=0.15)
    in_time(started, 2)
    assert (failure.kind, failure.message) == (
        "timeout",
        "provider call exceeded the local timeout",
    )
    assert failure.retryable
    assert not processes_of(model)


@best_of_three
def test_P3_slow_program_is_a_timeout_although_it_was_to_be_asked_what_it_offers(
    tmp_path: Path, agy: Callable[..., Provider]
) -> None:
    model = agy("auto")
    Path(model.where).write_text("#!/bin/sh\nsleep 5\n")  # type: ignore[attr-defined]
    started = time.monotonic()
    assert failure_of(model, "sleep", timeout=0.15).kind == "timeout"
    in_time(started, 2)


@pytest.mark.parametrize("way", WAYS)
@best_of_three
def test_P4_cancelled_call_ends_the_program(agy: Callable[..., Provider], way: str) -> None:
    model = agy(way)
    ask(model, prompt=for_task("read"), timeout=20)
    cancel = threading.Event()
    threading.Timer(0.05, cancel.set).start()
    started = time.monotonic()
    failure = failure_of(model, "sleep", cancel=cancel, timeout=20)
    in_time(started, 2)
    assert (failure.kind, failure.message) == ("cancelled", "provider call cancelled")
    assert not processes_of(model)


def processes_of(model: Provider) -> list[str]:
    """Command lines of living processes that run the provider's program."""
    program = str(model.where)  # type: ignore[attr-defined]
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes().decode()
            except OSError:
                continue
            if program in line:
                found.append(line)
    return found


def test_P5_output_beyond_its_bound_is_reported_as_such(agy: Callable[..., Provider]) -> None:
    failure = failure_of(agy("argument"), "flood", max_bytes=64, timeout=20)
    assert failure.kind == "size"
    assert "64 bytes" in failure.message


@pytest.mark.parametrize("way", WAYS)
@best_of_three
def test_P10_descendant_that_holds_the_pipe_does_not_hold_the_call(
    agy: Callable[..., Provider], way: str
) -> None:
    model = agy(way)
    started = time.monotonic()
    assert ask(model, prompt=for_task("linger"), timeout=20).error is None
    in_time(started, 2)


@pytest.mark.parametrize("way", WAYS)
def test_P11_exit_status_with_503_is_a_failure_and_never_a_decision(
    agy: Callable[..., Provider], way: str
) -> None:
    failure = failure_of(agy(way), "unavailable", timeout=20)
    assert failure.kind == "overload"
    assert failure.retryable
    assert failure.message.startswith(
        "AGY failed with status Some(1): stderr=upstream answered 503"
    )


@pytest.mark.parametrize("way", WAYS)
def test_P12_status_error_is_a_failure_and_never_a_decision(
    agy: Callable[..., Provider], way: str
) -> None:
    failure = failure_of(agy(way), "error", timeout=20)
    assert failure.message == "AGY status was ERROR"
    assert not failure.retryable
    assert failure.began, "the model may have been at work"


@pytest.mark.parametrize(("said", "began"), [("nonsense", True), ("429", False)])
def test_P11_what_a_failed_program_may_have_used_is_not_taken_for_nothing(
    agy: Callable[..., Provider], said: str, began: bool
) -> None:
    assert failure_of(agy(), f"fail\n{said}", timeout=20).began is began


@pytest.mark.parametrize("usage", [{"input_tokens": 70}, {"output_tokens": 7}, {}, None])
def test_tokens_that_it_does_not_say_are_estimated(
    agy: Callable[..., Provider], usage: dict[str, int] | None
) -> None:
    action = {"kind": "verify"}
    whole = json.dumps({"status": "SUCCESS", "structured_output": action, "usage": usage})
    found = ask(agy("argument"), prompt=for_task(f"output\n{whole}"), timeout=20).usage
    assert found.estimated and found.input_tokens > 0 and found.output_tokens > 0
    assert found.input_tokens == (usage or {}).get("input_tokens", found.input_tokens)


@pytest.mark.parametrize("task", ["bad line", "blank line"])
@best_of_three
def test_P13_malformed_line_ends_the_program_at_once(
    agy: Callable[..., Provider], task: str
) -> None:
    model = agy("stdin")
    started = time.monotonic()
    failure = failure_of(model, task, timeout=20)
    in_time(started, 5)
    assert failure.kind == "malformed"
    assert failure.partial == "I be"
    assert not processes_of(model)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("task", ["nothing", "null"])
def test_success_without_an_action_is_a_failure(
    agy: Callable[..., Provider], way: str, task: str
) -> None:
    failure = failure_of(agy(way), task, timeout=20)
    assert failure.message == "AGY success response did not include structured_output"
    assert failure.kind == "malformed"


def test_signal_is_told_as_none(agy: Callable[..., Provider]) -> None:
    failure = failure_of(agy("argument"), "killed", timeout=20)
    assert failure.message.startswith("AGY failed with status None: ")


def test_stream_without_a_result_is_no_answer(agy: Callable[..., Provider]) -> None:
    failure = failure_of(agy("stdin"), "cut", timeout=20)
    assert (failure.kind, failure.partial) == ("malformed", "I be")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "7",
        "{",
        'note {"status":"SUCCESS"}',
        '{"status":"SUCCESS"} done',
        '{"status":"SUCCESS"}{"status":"SUCCESS"}',
        '{"structured_output":{"kind":"verify"}}',
        '{"status":1}',
        '{"status":"SUCCESS","status":"SUCCESS"}',
        '{"status":"SUCCESS","structured_output":{"kind":"verify"},"usage":{"input_tokens":-1}}',
        '{"status":"SUCCESS","structured_output":{"kind":"verify"},"usage":{"input_tokens":1.5}}',
        '{"status":"SUCCESS","structured_output":{"kind":"verify","kind":"finish"}}',
    ],
)
def test_A16_output_that_is_not_one_envelope_is_malformed(
    agy: Callable[..., Provider], text: str
) -> None:
    assert failure_of(agy("argument"), f"output\n{text}", timeout=20).kind == "malformed"


@pytest.mark.parametrize(
    ("action", "fault"),
    [
        ({"kind": "launch"}, "not one of"),
        ({"path": "a"}, "missing field `kind`"),
        ({"kind": "verify", "flags": []}, "unknown field 'flags'"),
        ({"kind": "run_tool", "program": "x" * 129}, "more than 128 characters"),
        ({"kind": "run_tool", "program": "x", "args": ["a"] * 33}, "more than 32 items"),
        ({"kind": "run_tool", "program": "x", "args": None}, "is no array"),
        ({"kind": "run_tool", "program": "x", "args": [1]}, "an item that is no string"),
        ({"kind": "read_file", "path": "a" * 1025}, "more than 1024"),
        ({"kind": "finish", "summary": "a" * 4097}, "more than 4096"),
        (["verify"], "no JSON object"),
    ],
)
def test_A16_action_beyond_the_schema_is_an_answer_with_an_error(
    agy: Callable[..., Provider], action: object, fault: str
) -> None:
    task = f"act\n{json.dumps(action)}"
    answer = ask(agy("argument"), prompt=for_task(task), timeout=20)
    assert answer.action is None
    assert fault in (answer.error or "")


def test_text_streams_as_it_comes_and_tells_its_tokens(agy: Callable[..., Provider]) -> None:
    shown: list[str] = []
    usage = agy().stream(  # type: ignore[attr-defined]
        "speak", on_text=shown.append, cancel=threading.Event(), timeout=20, max_bytes=1000
    )
    assert shown == ["I look ", "first.\n"]
    assert usage == Usage(40, 2, estimated=False)


@pytest.mark.parametrize(
    ("prompt", "bounds", "kind", "text"),
    [
        ("endless", {"max_bytes": 10_000}, "size", "AGY stream exceeded the configured output"),
        ("sleep", {"timeout": 0.3}, "timeout", "provider stream exceeded the local timeout"),
        ("cut", {}, "cut", "AGY stream failed with status Some(0)"),
        ("unavailable", {}, "overload", "AGY stream failed with status Some(1)"),
        ("error", {}, "overload", "AGY stream failed with status Some(0)"),
        ("bad line", {}, "malformed", "AGY's output cannot be read"),
    ],
)
def test_text_stream_fails_in_its_own_words(
    agy: Callable[..., Provider], prompt: str, bounds: dict[str, Any], kind: str, text: str
) -> None:
    given = {"timeout": 20, "max_bytes": 1 << 20, "cancel": threading.Event(), **bounds}
    with pytest.raises(ProviderError) as failure:
        agy().stream(prompt, on_text=lambda delta: None, **given)  # type: ignore[attr-defined]
    assert failure.value.kind == kind
    assert failure.value.message.startswith(text)


def test_what_the_caller_raises_passes_through_and_ends_the_program(
    agy: Callable[..., Provider],
) -> None:
    class Stale(Exception):
        """As a fence that has moved on."""

    def on_text(text: str) -> None:
        raise Stale

    model = agy("stdin")
    with pytest.raises(Stale):
        ask(model, prompt=for_task("endless"), on_text=on_text, timeout=20)
    assert not processes_of(model)


@pytest.mark.parametrize("bounds", [{"timeout": 0}, {"max_bytes": 0}])
def test_bounds_must_be_positive(agy: Callable[..., Provider], bounds: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="must be positive"):
        ask(agy(), prompt=for_task("read"), **bounds)  # type: ignore[arg-type]


def test_program_that_cannot_be_executed_is_no_answer(agy: Callable[..., Provider]) -> None:
    model = agy("argument")
    Path(model.where).write_text("#!/no/such/interpreter\n")  # type: ignore[attr-defined]
    failure = failure_of(model, "read", timeout=20)
    assert failure.kind == "unreachable"
