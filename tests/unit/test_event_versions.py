"""A payload that an earlier release wrote reads as if this one had; what a later one wrote is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from runtime.agent import state as agent
from runtime.core import canonical
from runtime.journal import kinds, versions
from runtime.journal.chain import By, Draft, rows
from runtime.journal.draft import moved, whole
from runtime.journal.kind import Payload
from runtime.journal.rows import EventRow, from_columns
from runtime.journal.verify import verify_lines
from runtime.present import events as present
from runtime.runs import folding


def _named(payload: dict[str, Any]) -> dict[str, Any]:
    """Version 1 called it `who`."""
    return {**{k: v for k, v in payload.items() if k != "who"}, "name": payload["who"]}


def _in_seconds(payload: dict[str, Any]) -> dict[str, Any]:
    """Version 2 counted in minutes, and had no list of roles."""
    minutes = payload["minutes"]
    rest = {k: v for k, v in payload.items() if k != "minutes"}
    return {**rest, "seconds": minutes * 60, "roles": []}


class Visited(Payload):
    """A kind that has been changed twice."""

    type: ClassVar[str] = "test.visited"
    v: ClassVar[int] = 3
    bulky: ClassVar[tuple[str, ...]] = ("text",)
    older: ClassVar = {1: _named, 2: _in_seconds}
    name: str
    seconds: int
    roles: list[str]
    text: str | None = None


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Payload]]:
    """It is known while a test goes on."""
    monkeypatch.setitem(kinds.REGISTRY, Visited.type, Visited)
    yield Visited


OLD = {"who": "alice", "minutes": 2}
BY = By("01run", "t", 1, 1, "user:alice")
AT = "2026-11-29T14:03:12.000000Z"


def written(*payloads: tuple[str, int, dict[str, Any]]) -> list[EventRow]:
    """Events as the journal holds them, read back."""
    drafts = [Draft(type_, v, canonical.text(given)) for type_, v, given in payloads]
    head = _head()
    return [from_columns(row) for row in rows(BY, AT, 0, head, drafts)]


def _head() -> str:
    """The first hash of the run of these tests."""
    from runtime.core.digests import first_head

    return first_head(BY.run)


def test_every_step_is_taken_from_the_version_that_was_written(kind: type[Payload]):
    one, two, three = written(
        (kind.type, 1, OLD),
        (kind.type, 2, {"name": "bob", "minutes": 1}),
        (kind.type, 3, {"name": "sol", "seconds": 5, "roles": ["x"]}),
    )
    assert (one.v, one.payload) == (3, {"name": "alice", "seconds": 120, "roles": []})
    assert (two.v, two.payload) == (3, {"name": "bob", "seconds": 60, "roles": []})
    assert (three.v, three.payload["seconds"], three.stored) == (3, 5, None)
    assert kind.model_validate(one.payload).given() == one.payload
    assert OLD == {"who": "alice", "minutes": 2}, "what was stored is not touched"


def test_the_export_and_every_hash_are_of_what_was_written(kind: type[Payload]):
    events = written((kind.type, 1, OLD), (kind.type, 2, {"name": "bob", "minutes": 1}))
    documents = [event.document() for event in events]
    assert [(d["type"], d["v"], d["payload"]) for d in documents] == [
        (kind.type, 1, OLD),
        (kind.type, 2, {"name": "bob", "minutes": 1}),
    ]
    assert all("stored" not in document for document in documents)


@pytest.mark.usefixtures("site")
def test_an_exported_chain_of_old_versions_is_whole(kind: type[Payload]):
    events = written((kind.type, 1, OLD), (kind.type, 9, {"later": True}))
    lines = [canonical.text(event.document()) for event in events]
    assert verify_lines(lines)["ok"]
    changed = json.loads(lines[0]) | {"v": 3, "payload": events[0].payload}
    assert verify_lines([canonical.text(changed), lines[1]])["first_bad"] == 1


@pytest.mark.parametrize("v", [4, 9])
def test_a_version_of_a_later_release_is_kept_and_shown_and_folds_to_nothing(
    kind: type[Payload], v: int
):
    (event,) = written((kind.type, v, {"odd": "<b>"}))
    assert (event.type, event.v, event.payload) == (f"{kind.type}@{v}", v, {"odd": "<b>"})
    assert event.document()["type"] == kind.type
    shown = present.render(event)
    assert "&lt;b&gt;" in shown and f"{kind.type}@{v}" in shown


def test_a_later_version_of_a_known_kind_changes_no_fold():
    (event,) = written(("task.succeeded", 2, {"summary": 7, "more": {}}))
    assert event.type == "task.succeeded@2"
    before = agent.fold("t", [])
    assert agent.fold("t", [(event.type, event.task, event.payload)]) == before
    made = folding.fold([(event, event)])
    assert (made.tasks, made.run["event_seq"]) == ({}, 1), "it counts, and says nothing"
    assert present.render(event)


def test_an_old_payload_that_no_step_can_take_is_shown_as_it_is(kind: type[Payload]):
    (event,) = written((kind.type, 1, {"nobody": 1}))
    assert (event.type, event.payload) == (f"{kind.type}@1", {"nobody": 1})
    with pytest.raises(versions.Unreadable, match="version 1 cannot be read"):
        versions.newest(kind.type, 1, {"nobody": 1})


def test_a_field_that_lies_in_an_artifact_keeps_its_name_for_the_reference(kind: type[Payload]):
    away = {"artifact": "0" * 64, "size": 5000}
    (event,) = written((kind.type, 2, {"name": "bob", "minutes": 1, "text": away}))
    assert moved(event.payload) == moved(event.written().payload) == [("text", "0" * 64, 5000)]
    assert whole(event.payload, kind, only=()) == event.payload


def test_an_unknown_type_has_no_versions():
    (event,) = written(("future.thing", 7, {"a": 1}))
    assert (event.type, event.v, event.payload, event.stored) == ("future.thing", 7, {"a": 1}, None)
