"""Every kind of event has its row; an unknown one, too."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

from runtime.journal.kind import Payload
from runtime.journal.kinds import REGISTRY
from runtime.journal.rows import EventRow
from runtime.present import events
from runtime.present.events.render import RENDERERS

EVIL = "<script>alert(1)</script>\u202e"


def event(type_: str, payload: dict[str, Any], seq: int = 7) -> EventRow:
    at = "2026-11-29T14:03:12.000000Z"
    return EventRow("01run", seq, type_, 1, "t", 1, 1, "user:alice", at, payload, "", "f" * 64)


def _filled(kind: type[Payload]) -> dict[str, Any]:
    """A payload with something hostile in every field of this kind."""
    return {name: _value(field.annotation) for name, field in kind.model_fields.items()}


def _value(annotation: Any) -> Any:
    text = str(annotation)
    if annotation is bool:
        return True
    if annotation is int or int in get_args(annotation):
        return 3
    if text.startswith("list[list["):
        return [[EVIL, EVIL, EVIL]]
    if text.startswith("list[dict["):
        return [{"argv": [EVIL], "status": 1, "output": EVIL, "sha256": EVIL, "name": EVIL}]
    if text.startswith("list["):
        return [EVIL]
    if text.startswith("dict["):
        return {"kind": "run_shell", "script": EVIL, "question": EVIL}
    return EVIL


@pytest.mark.parametrize("type_", sorted(REGISTRY))
def test_every_kind_has_a_row_that_escapes_everything(type_: str) -> None:
    assert type_ in RENDERERS
    row = events.render(event(type_, _filled(REGISTRY[type_])))
    assert row.startswith('<li id="e7" class="event ')
    assert 'data-seq="7"' in row and f'data-type="{type_}"' in row
    assert "<script" not in row and "\u202e" not in row
    assert " style=" not in row and " on" not in re.sub(r">[^<]*<", "><", row)


@pytest.mark.parametrize("type_", sorted(REGISTRY))
def test_an_older_or_newer_payload_still_has_its_row(type_: str) -> None:
    for payload in ({}, {name: {"odd": [1]} for name in REGISTRY[type_].model_fields}):
        assert 'data-seq="7"' in events.render(event(type_, payload))


def test_an_unknown_type_is_shown_with_all_it_holds() -> None:
    row = events.render(event("moon.rose", {"phase": "full <b>"}))
    assert "moon.rose" in row and "full &lt;b&gt;" in row


def test_a_message_row_names_its_message() -> None:
    payload = {"message": "m1", "step": 1, "text": "hello", "model": "x"}
    assert 'data-message="m1"' in events.render(event("message.completed", payload))


def test_a_stored_output_shows_its_head_and_the_way_to_the_rest() -> None:
    moved = {"artifact": "a" * 64, "size": 90_000}
    payload = {"action": "x", "kind": "run_tool", "ok": True, "observation": moved}
    row = events.row(event("action.completed", payload), head=lambda digest, size: "first line")
    assert "first line" in row["body"]
    assert f"/artifacts/{'a' * 64}/?run=01run" in row["body"]
    assert "90 kB" in row["body"]


def test_an_output_that_is_gone_is_still_linked() -> None:
    moved = {"artifact": "a" * 64, "size": 90_000}
    payload = {"action": "x", "kind": "run_tool", "ok": True, "observation": moved}
    row = events.row(event("action.completed", payload), head=lambda digest, size: None)
    assert "Show all of it (90 kB)" in row["body"]


def test_the_words_of_a_decision_stand_beside_its_colour() -> None:
    for word in ("ALLOW", "ASK", "ESCALATE", "DENY"):
        row = events.render(event("policy.decided", {"decision": word}))
        assert f"</svg>{word}</span>" in row


def test_a_damaged_record_is_told_and_shown() -> None:
    row = events.render(event("run.succeeded", {"unreadable": "no <json>"}))
    assert "cannot be read" in row and "no &lt;json&gt;" in row
    assert "The run succeeded" not in row


def test_a_shorter_prompt_is_told_in_tokens_as_no_letters_are_counted_for_other_scripts() -> None:
    payload = {"shortened": 12, "dropped": 3, "before": 201_000, "after": 120_000}
    row = events.render(event("context.compacted", {**payload, "reason": "window"}))
    assert "about 40,000 tokens in place of 67,000" in row and "characters" not in row


@pytest.mark.parametrize("kind", ["guarded_files.changed", "verification.inputs_changed"])
def test_a_mark_says_how_many_files_it_does_not_name(kind: str) -> None:
    row = events.render(event(kind, {"action": "t.1", "paths": [f"f{n}" for n in range(23)]}))
    assert "f19" in row and "f20" not in row and "and 3 more" in row
