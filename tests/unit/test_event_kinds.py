"""Every kind of event: a closed schema, bounded, and what was stored once can always be read."""

from __future__ import annotations

import dataclasses
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from runtime import blobs
from runtime.agent import state as agent
from runtime.core import canonical
from runtime.journal.draft import draft, moved, whole
from runtime.journal.kind import MAX_PAYLOAD, Payload
from runtime.journal.kinds import REGISTRY
from runtime.journal.rows import COLUMNS, from_columns
from runtime.present import events as present
from runtime.runs import folding

STORED = {
    path.name.removesuffix(".json"): json.loads(path.read_text())
    for path in sorted((Path(__file__).parent / "data" / "events").glob("*.json"))
}
"""One event of each kind and version as it stood in a journal. Never edited, only added to."""
NEWEST = {kind: event for event in STORED.values() for kind in [REGISTRY[event["type"]]]}


def _row(event: dict[str, Any]) -> Any:
    values = {**event, "payload": canonical.text(event["payload"])}
    return from_columns(tuple(values[name] for name in COLUMNS))


def test_there_is_a_stored_event_of_every_kind_and_version():
    wanted = {f"{kind.type}.v{v}" for kind in REGISTRY.values() for v in range(1, kind.v + 1)}
    assert STORED.keys() >= wanted


@pytest.mark.parametrize("name", STORED)
def test_a_stored_event_is_still_read_and_hashed_as_it_was(name):
    event = STORED[name]
    kind = REGISTRY[event["type"]]
    body = {field: event[field] for field in event if field not in {"prev_hash", "hash"}}
    by_hand = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert sha256((event["prev_hash"] + by_hand).encode()).hexdigest() == event["hash"]
    newest = {**event, "payload": _row(event).payload}
    here = {k: v for k, v in newest["payload"].items() if k not in _moved(newest)}
    lacking = {name: _example(kind, name) for name in _moved(newest)}
    assert kind.model_validate({**here, **lacking}).given().items() >= here.items()


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=lambda kind: kind.type)
def test_every_earlier_version_of_a_kind_has_its_way_to_the_next(kind):
    assert sorted(kind.older) == list(range(1, kind.v))


def _moved(event: dict[str, Any]) -> set[str]:
    return {name for name, _, _ in moved(event["payload"])}


def _example(kind: type[Payload], name: str) -> Any:
    return [] if "list" in str(kind.model_fields[name].annotation) else "x"


@pytest.mark.parametrize("name", STORED)
def test_a_stored_event_can_still_be_folded_and_shown(name):
    event = _row(STORED[name])
    begun = _row(STORED["run.submitted.v1"])
    asked = _row(STORED["approval.requested.v1"])
    granted = _row(STORED["grant.created.v1"])
    history = [begun, asked, granted, event]
    folding.fold((one, one) for one in history)
    state = agent.fold(str(event.task), [(one.type, one.task, one.payload) for one in history])
    assert dataclasses.is_dataclass(state)
    assert f'data-type="{event.type}"' in present.render(event)


@pytest.mark.parametrize("kind", NEWEST, ids=lambda kind: kind.type)
def test_a_field_that_the_kind_does_not_have_is_refused(kind):
    payload = {**NEWEST[kind]["payload"], **{n: _example(kind, n) for n in _moved(NEWEST[kind])}}
    with pytest.raises(ValidationError, match="unheard_of"):
        kind(**payload, unheard_of=1)
    for name, field in kind.model_fields.items():
        if field.is_required():
            with pytest.raises(ValidationError, match=name):
                kind(**{k: v for k, v in payload.items() if k != name})


@pytest.mark.parametrize("kind", NEWEST, ids=lambda kind: kind.type)
def test_a_payload_that_is_too_large_moves_its_bulky_fields_out_and_comes_back(kind):
    payload = {**NEWEST[kind]["payload"], **{n: _example(kind, n) for n in _moved(NEWEST[kind])}}
    for name in kind.bulky:
        given = kind(**{**payload, name: _large(payload.get(name, ""))})
        made = draft(given)
        assert len(made.payload.encode()) <= MAX_PAYLOAD
        stored = canonical.decode(made.payload)
        assert stored == made.given
        assert [one[0] for one in moved(stored)][:1] == [name]
        assert whole(stored, kind) == given.given()
        assert blobs.exists(stored[name]["artifact"])


def _large(value: Any) -> Any:
    if isinstance(value, list):
        one = value[0] if value else "x"
        return [one] * 5000
    if isinstance(value, dict):
        return {**value, "more": "é" * 5000}
    return "é" * 5000


def test_every_kind_has_a_type_of_its_own_and_moves_only_fields_that_it_has():
    assert len({kind.type for kind in Payload.__subclasses__()}) == len(Payload.__subclasses__())
    for kind in REGISTRY.values():
        assert set(kind.bulky) <= kind.model_fields.keys()
        assert kind.type.count(".") == 1


def test_an_event_of_an_unknown_type_is_kept_and_shown_and_folds_to_nothing():
    event = _row({**STORED["task.ready.v1"], "type": "future.thing", "payload": {"a": "<b>"}})
    before = folding.fold([(_row(STORED["run.submitted.v1"]),) * 2])
    after = folding.fold([(_row(STORED["run.submitted.v1"]),) * 2, (event, event)])
    assert after.tasks == before.tasks
    assert "&lt;b&gt;" in present.render(event)
