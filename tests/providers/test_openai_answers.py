"""`openai:` against real HTTP: text streams, and one action comes of each answer."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from runtime.providers import Message, Prompt, ProviderError, Usage
from runtime.providers.scripted_server import ScriptedServer
from tests.providers.raw_server import (
    DONE,
    KEY,
    STREAM_HEAD,
    RawServer,
    ask,
    call,
    event,
    provider,
)

Serve = Callable[..., RawServer]
SCRIPT = b"""
{"kind": "read_file", "path": "a.py", "say": "I look at the file first, then I change it.",\
 "usage": {"input_tokens": 812, "output_tokens": 34}}
{"kind": "finish", "summary": "gr\xc3\xbcn"}
"""


@pytest.mark.parametrize("mode", ["tools", "json"])
def test_answer_streams_text_and_ends_in_an_action(mode: str) -> None:
    shown: list[str] = []
    with ScriptedServer(SCRIPT) as server:
        answer = ask(provider(server.base_url, mode=mode), on_text=shown.append)
    assert answer.action == {"kind": "read_file", "path": "a.py"}
    assert answer.error is None
    assert answer.text.strip() == "I look at the file first, then I change it."
    assert "".join(shown) == answer.text
    assert len(shown) > 1
    assert answer.usage == Usage(812, 34, estimated=False)
    assert answer.model == "scripted"


def test_server_plays_the_line_after_the_answers_it_is_shown() -> None:
    talk = (Message("user", "go"), Message("assistant", "{}"), Message("user", "seen"))
    with ScriptedServer(SCRIPT) as server:
        answer = ask(provider(server.base_url), prompt=Prompt("s", talk))
    assert answer.action == {"kind": "finish", "summary": "grün"}


def test_request_holds_prompt_key_and_schema() -> None:
    talk = (Message("user", "one"), Message("user", "two"), Message("assistant", "three"))
    with ScriptedServer(SCRIPT) as server:
        ask(provider(server.base_url), prompt=Prompt("rules", talk))
        exchange = server.exchanges[0]
    assert exchange.keyed
    assert exchange.body["model"] == "raw"
    assert exchange.body["stream"] is True
    assert exchange.body["tool_choice"] == "required"
    assert [(m["role"], m["content"]) for m in exchange.body["messages"]] == [
        ("system", "rules"),
        ("user", "one\n\ntwo"),
        ("assistant", "three"),
    ]
    assert [tool["function"]["name"] for tool in exchange.body["tools"]] == ["act"]


def test_json_mode_asks_for_the_schema_in_place_of_a_tool() -> None:
    with ScriptedServer(SCRIPT) as server:
        ask(provider(server.base_url, mode="json"))
        body = server.exchanges[0].body
    assert "tools" not in body
    assert body["response_format"]["type"] == "json_schema"


def test_server_without_tools_may_answer_in_text(serve: Serve) -> None:
    parts = ["I verify.\n", '{"kind":', ' "verify"}']
    stream = b"".join(event({"content": part}) for part in parts)
    server = serve(STREAM_HEAD, stream, event({}, "stop"), DONE)
    shown: list[str] = []
    answer = ask(provider(server.url), on_text=shown.append)
    assert answer.action == {"kind": "verify"}
    assert shown == ["I verify.\n"]


def test_text_that_only_looked_like_an_action_is_shown_in_the_end(serve: Serve) -> None:
    code = "{\n  return 1;\n}"
    server = serve(STREAM_HEAD, event({"content": code}), call('{"kind": "verify"}'))
    server.reply = lambda connection: connection.sendall(
        STREAM_HEAD
        + event({"content": code})
        + call('{"kind": "verify"}')
        + event({}, "tool_calls")
        + DONE
    )
    answer = ask(provider(server.url))
    assert answer.action == {"kind": "verify"}
    assert answer.text == code


def test_thoughts_are_not_text(serve: Serve) -> None:
    server = serve(
        STREAM_HEAD,
        event({"reasoning_content": "hmm"}),
        event({"content": "Done thinking."}),
        call('{"kind": "verify"}'),
        event({}, "tool_calls"),
        DONE,
    )
    assert ask(provider(server.url)).text == "Done thinking."


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ('{"kind": "verify"', "not one JSON object"),
        ('{"kind": "verify"}{"kind": "verify"}', "not one JSON object"),
        ("", "not one JSON object"),
        ("7", "not a JSON object"),
    ],
)
def test_A16_arguments_that_are_no_action_are_an_answer_with_an_error(
    serve: Serve, arguments: str, fault: str
) -> None:
    server = serve(STREAM_HEAD, call(arguments), event({}, "tool_calls"), DONE)
    answer = ask(provider(server.url))
    assert answer.action is None
    assert fault in (answer.error or "")


def test_A16_two_calls_are_an_answer_with_an_error(serve: Serve) -> None:
    verify = '{"kind": "verify"}'
    server = serve(STREAM_HEAD, call(verify), call(verify, index=1), event({}, "tool_calls"), DONE)
    answer = ask(provider(server.url))
    assert answer.action is None
    assert "2 tools" in (answer.error or "")


def test_A16_unknown_kind_and_extra_fields_reach_the_runtime_as_they_are(serve: Serve) -> None:
    wild = {"kind": "launch", "rockets": 3}
    server = serve(STREAM_HEAD, call(json.dumps(wild)), event({}, "tool_calls"), DONE)
    assert ask(provider(server.url)).action == wild


def test_answer_without_action_says_so(serve: Serve) -> None:
    server = serve(STREAM_HEAD, event({"content": "I am not sure."}), event({}, "stop"), DONE)
    answer = ask(provider(server.url))
    assert (answer.action, answer.text) == (None, "I am not sure.")
    assert "no action" in (answer.error or "")


def test_answer_at_the_output_limit_is_never_used(serve: Serve) -> None:
    server = serve(STREAM_HEAD, call('{"kind": "verify"}'), event({}, "length"), DONE)
    answer = ask(provider(server.url))
    assert answer.action is None
    assert "limit" in (answer.error or "")


def test_missing_usage_is_estimated_and_marked(serve: Serve) -> None:
    server = serve(STREAM_HEAD, call('{"kind": "verify"}'), event({}, "tool_calls"), DONE)
    usage = ask(provider(server.url)).usage
    assert usage.estimated
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0


def test_refusal_is_a_failure_of_its_own_kind(serve: Serve) -> None:
    server = serve(STREAM_HEAD, event({"refusal": "I can't."}), event({}, "stop"), DONE)
    with pytest.raises(ProviderError) as failure:
        ask(provider(server.url))
    assert failure.value.kind == "refusal"


def test_key_goes_to_the_server_and_keyless_servers_get_none_of_ours(serve: Serve) -> None:
    server = serve(STREAM_HEAD, call('{"kind": "verify"}'), event({}, "tool_calls"), DONE)
    ask(provider(server.url))
    ask(provider(server.url, key=""))
    assert KEY.encode() in server.requests[0]
    assert b"sk-" not in server.requests[1]
