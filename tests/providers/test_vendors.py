"""Every vendor's own protocol over real HTTP ends in the same answers and the same failures."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from runtime.core.errors import BadInput
from runtime.providers import Message, Prompt, ProviderError, Usage, load
from runtime.providers.base import MOST_TOKENS
from tests.providers.raw_server import KEY, RawServer, ask
from tests.providers.voices import VERIFY, VOICES, Google, Ollama, Voice, read_request, status

Serve = Callable[..., RawServer]
every_vendor = pytest.mark.parametrize("voice", VOICES, ids=lambda voice: voice.scheme)
TALK = (
    Message("user", "one"),
    Message("user", "two"),
    Message("assistant", "three"),
    Message("user", "four"),
)


@every_vendor
def test_text_streams_and_a_call_ends_in_the_action(voice: Voice, serve: Serve) -> None:
    action = {"kind": "read_file", "path": "grün.py"}
    server = serve(voice.whole("I look first.", action))
    shown: list[str] = []
    answer = ask(voice.provider(server.base), on_text=shown.append)
    assert (answer.action, answer.error) == (action, None)
    assert "".join(shown) == answer.text == "I look first."
    assert answer.usage == Usage(812, 34, estimated=False)
    assert answer.model


@every_vendor
def test_request_holds_prompt_key_and_tool_and_goes_out_once(voice: Voice, serve: Serve) -> None:
    server = serve(voice.whole())
    ask(voice.provider(server.base), prompt=Prompt("rules", TALK))
    assert len(server.requests) == 1
    put = read_request(server.requests[0])
    assert KEY in json.dumps(put.headers)
    assert KEY not in put.line + json.dumps(put.body)
    turns = [("user", "one\n\ntwo"), ("assistant", "three"), ("user", "four")]
    assert voice.request(put.body) == ("rules", turns, True, False)
    assert put.headers["accept-encoding"] == "identity"


@every_vendor
def test_json_mode_asks_for_a_schema_in_place_of_a_tool(voice: Voice, serve: Serve) -> None:
    server = serve(voice.head, voice.start, voice.text(json.dumps(VERIFY)), voice.end("stop"))
    model = voice.provider(server.base, **{f"M31A_{voice.scheme.upper()}_MODE": "json"})
    answer = ask(model)
    assert answer.action == VERIFY
    assert voice.request(read_request(server.requests[0]).body)[2:] == (False, True)


@every_vendor
def test_model_without_tools_is_asked_for_json_and_from_then_on(voice: Voice, serve: Serve) -> None:
    server = serve()
    replies = [
        status(*voice.no_tools),
        *[voice.head + voice.start + voice.text('{"kind": "verify"}') + voice.end("stop")] * 2,
    ]
    server.reply = lambda connection: connection.sendall(replies[len(server.requests) - 1])
    model = voice.provider(server.base)
    assert ask(model).action == VERIFY
    assert ask(model).action == VERIFY
    asked = [voice.request(read_request(request).body)[2:] for request in server.requests]
    assert asked == [(True, False), (False, True), (False, True)]


@every_vendor
def test_model_without_tools_is_a_failure_where_tools_were_demanded(
    voice: Voice, serve: Serve
) -> None:
    server = serve(status(*voice.no_tools))
    with pytest.raises(ProviderError) as failure:
        ask(voice.provider(server.base, **{f"M31A_{voice.scheme.upper()}_MODE": "tools"}))
    assert failure.value.kind == "bad_request"
    assert len(server.requests) == 1


@every_vendor
@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (401, "auth", False),
        (403, "auth", False),
        (404, "bad_request", False),
        (413, "bad_request", False),
        (429, "rate_limit", True),
        (500, "overload", True),
        (503, "overload", True),
        (529, "overload", True),
    ],
)
def test_P14_status_is_a_typed_failure(
    voice: Voice, serve: Serve, code: int, kind: str, retryable: bool
) -> None:
    server = serve(status(code, voice.error(f"No. {KEY}\x1b[2J"), "Retry-After: 17"))
    with pytest.raises(ProviderError) as failure:
        ask(voice.provider(server.base))
    assert (failure.value.kind, failure.value.retryable) == (kind, retryable)
    assert failure.value.retry_after == (17 if kind in ("rate_limit", "overload") else None)
    assert "It said: " in failure.value.message
    assert KEY not in str(failure.value)
    assert "\x1b" not in str(failure.value)
    assert len(server.requests) == 1


@every_vendor
def test_prompt_beyond_the_context_is_told_apart(voice: Voice, serve: Serve) -> None:
    if isinstance(voice, Ollama):
        pytest.skip("it is told before it is asked")
    with pytest.raises(ProviderError) as failure:
        ask(voice.provider(serve(status(*voice.too_long)).base))
    assert failure.value.kind == "context_length"


@every_vendor
def test_error_inside_a_stream_is_typed_and_keeps_what_was_said(voice: Voice, serve: Serve) -> None:
    server = serve(voice.head, voice.start, voice.text("I be"), voice.in_stream)
    with pytest.raises(ProviderError) as failure:
        ask(voice.provider(server.base))
    assert failure.value.kind == voice.in_stream_kind
    assert failure.value.partial == "I be"


@every_vendor
def test_refusal_is_a_failure_of_its_own_kind(voice: Voice, serve: Serve) -> None:
    if isinstance(voice, Ollama):
        pytest.skip("a local model has no filter")
    server = serve(voice.head, voice.start, voice.text("No"), voice.end("refusal"))
    with pytest.raises(ProviderError) as failure:
        ask(voice.provider(server.base))
    assert failure.value.kind == "refusal"


@every_vendor
def test_answer_at_the_output_limit_is_never_used(voice: Voice, serve: Serve) -> None:
    server = serve(voice.head, voice.start, voice.call(VERIFY), voice.end("length"))
    answer = ask(voice.provider(server.base))
    assert answer.action is None
    assert "limit" in (answer.error or "")


@every_vendor
def test_missing_usage_is_estimated_and_marked(voice: Voice, serve: Serve) -> None:
    if voice.scheme == "anthropic":
        pytest.skip("its protocol always tells")
    server = serve(voice.head, voice.start, voice.call(VERIFY), voice.end(usage=False))
    usage = ask(voice.provider(server.base)).usage
    assert usage.estimated
    assert usage.input_tokens > 0


@pytest.mark.filterwarnings("ignore:::pydantic")  # as the provider does for itself
@every_vendor
@pytest.mark.parametrize(
    "count", ["-5", "1e30", "1" + "0" * 30, "1.5", '"x"', "null", "[]", "true", "0"]
)
def test_usage_that_is_no_count_is_estimated_or_bounded(
    voice: Voice, serve: Serve, count: str
) -> None:
    text = b"".join([voice.head, voice.start, voice.call(VERIFY), voice.end()])
    for number in (b"812", b"34", b"30"):
        text = text.replace(b": " + number, b": " + count.encode())
    try:
        usage = ask(voice.provider(serve(text).base)).usage
    except ProviderError as error:
        assert error.kind == "malformed"
        return
    for tokens in (usage.input_tokens, usage.output_tokens):
        assert type(tokens) is int and 0 < tokens <= MOST_TOKENS


@every_vendor
def test_A16_calls_that_are_no_action_are_an_answer_with_an_error(
    voice: Voice, serve: Serve
) -> None:
    for call in (voice.call(VERIFY, name="launch"), voice.call(["verify"]), voice.call(7)):
        answer = ask(voice.provider(serve(voice.head, voice.start, call, voice.end()).base))
        assert answer.action is None
        assert answer.error
    wild = {"kind": "launch", "rockets": 3}
    server = serve(voice.head, voice.start, voice.call(wild), voice.end())
    assert ask(voice.provider(server.base)).action == wild


@every_vendor
def test_keyless_server_gets_no_key_of_ours(
    voice: Voice, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(voice.key, KEY)
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    server = serve(voice.whole())
    ask(voice.provider(server.base, **{voice.key: ""}))
    assert KEY.encode() not in server.requests[0]


def test_google_says_in_its_details_why_and_for_how_long(serve: Serve) -> None:
    voice = Google()
    invalid = {"@type": "ErrorInfo", "reason": "API_KEY_INVALID"}
    wait = {"@type": "RetryInfo", "retryDelay": "16.2s"}
    daily = {"@type": "QuotaFailure", "violations": [{"quotaId": "RequestsPerDayPerProject"}]}
    for code, details, expected in (
        (400, [invalid], ("auth", None, False)),
        (429, [wait], ("rate_limit", 17, True)),
        (429, [wait, daily], ("rate_limit", 17, False)),
        (429, ["text", None], ("rate_limit", None, True)),
    ):
        with pytest.raises(ProviderError) as failure:
            ask(voice.provider(serve(status(code, voice.error("no", details=details))).base))
        found = failure.value
        assert (found.kind, found.retry_after, found.retryable) == expected


def test_google_blocks_a_prompt_before_any_candidate(serve: Serve) -> None:
    voice = Google()
    block = b'data: {"promptFeedback": {"blockReason": "OTHER"}}\n\n'
    with pytest.raises(ProviderError) as failure:
        ask(voice.provider(serve(voice.head, block).base))
    assert failure.value.kind == "refusal"


def test_ollama_is_told_its_context_and_never_cuts_a_prompt_in_silence(serve: Serve) -> None:
    voice = Ollama()
    server = serve(voice.whole())
    model = voice.provider(server.base, M31A_OLLAMA_CONTEXT="8192")
    ask(model)
    assert read_request(server.requests[0]).body["options"] == {"num_ctx": 8192}
    with pytest.raises(ProviderError, match="M31A_OLLAMA_CONTEXT") as failure:
        ask(model, prompt=Prompt("s", (Message("user", "x" * 40_000),)))
    assert failure.value.kind == "context_length"
    with pytest.raises(ProviderError, match="M31A_OLLAMA_CONTEXT"):
        ask(model, prompt=Prompt("s", (Message("user", "漢" * 3000),)))
    assert len(server.requests) == 1
    ask(voice.provider(server.base, M31A_OUTPUT_TOKENS="700"))
    assert read_request(server.requests[1]).body["options"]["num_predict"] == 700


@pytest.mark.parametrize(
    ("spec", "env", "most"),
    [
        ("anthropic:m", {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://x"}, 16_384),
        ("google:m", {"GEMINI_API_KEY": "k"}, 16_384),
        ("openai:m", {"OPENAI_API_KEY": "k"}, 16_384),
        ("openai:m", {"OPENAI_API_KEY": "k", "M31A_OUTPUT_TOKENS": "500"}, 500),
        ("openai:m", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, 0),
        ("ollama:m", {"OLLAMA_BASE_URL": "http://127.0.0.1:1"}, 0),
        (
            "openai:m",
            {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "M31A_OUTPUT_TOKENS": "700"},
            700,
        ),
        ("openrouter:m/n", {"OPENROUTER_API_KEY": "k"}, 16_384),
    ],
)
def test_the_answer_is_bounded_as_it_is_reserved_where_the_server_takes_a_bound(
    spec: str, env: dict[str, str], most: int
) -> None:
    assert load(spec, env=env).endpoint.longest == most  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["x", "0", "-1", "1.5", "9999999999"])
def test_a_bound_that_is_none_names_its_setting(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        load("google:m", env={"GEMINI_API_KEY": "k", "M31A_OUTPUT_TOKENS": text})
    assert refused.value.field == "M31A_OUTPUT_TOKENS"


@pytest.mark.parametrize("voice", [v for v in VOICES if v.scheme in ("anthropic", "google")])
def test_the_bound_is_in_the_question(voice: Voice, serve: Serve) -> None:
    server = serve(voice.whole())
    ask(voice.provider(server.base))
    assert b"16384" in server.requests[0]
