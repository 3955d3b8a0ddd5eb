"""The rule lab: what is wrong with an action's form is told as that, and examples help."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from runtime.core import actions
from runtime.models import User
from runtime.web.policy import kinds
from tests import kit
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")


def wish(action: Any, **changes: str) -> dict[str, str]:
    """The lab's form, filled in."""
    written = action if isinstance(action, str) else json.dumps(action)
    return {"workspace": "work", "mode": "assisted", "role": "implementer",
            "kind": "implementation", "cwd": ".", "action": written, **changes}  # fmt: skip


@pytest.fixture
def lab(alice: User) -> Client:
    """Alice before the lab, with a workspace to judge against."""
    kit.workspace(factories.person("ada", "admin"))
    return signed_in(alice)


@pytest.mark.parametrize(
    ("action", "field", "says"),
    [
        ({"kind": "run_tool"}, "program", "this field is needed"),
        ({"kind": "run_tool", "program": "ls", "shell": "x"}, "shell", "there is no such field"),
        ({"kind": "run_tool", "program": "ls", "args": "-l"}, "args", "a list of texts is needed"),
        ({"kind": "fly"}, "kind", "it must be one of read_file"),
        ({"kind": "network", "method": "GET"}, "target", "text of 1 to"),
        ([], "", "an action is one JSON object"),
    ],
)
def test_a_slip_of_the_pen_is_no_verdict(lab: Client, action: Any, field: str, says: str) -> None:
    answer = lab.post("/policy/", wish(action), headers={"hx-request": "true"})
    assert answer.status_code == 400
    assert "the gate was not asked" in answer.text
    assert (f"<code>{field}</code>: {says}" if field else says) in answer.text
    assert "DENY" not in answer.text and "<th scope" not in answer.text


def test_a_fault_lists_the_fields_that_the_kind_has(lab: Client) -> None:
    page = lab.post("/policy/", wish({"kind": "grep"}), headers={"hx-request": "true"}).text
    assert "grep takes <code>pattern</code> (text), <code>path</code> (text, optional)" in page


def test_what_is_no_json_is_told_at_the_field(lab: Client) -> None:
    assert "This is no JSON" in lab.post("/policy/", wish("{")).text


@pytest.mark.parametrize("name", ["role", "kind"])
def test_an_unknown_role_or_kind_of_task_is_a_field_error(lab: Client, name: str) -> None:
    answer = lab.post("/policy/", wish({"kind": "verify"}, **{name: "king"}))
    assert answer.status_code == 400 and "Select a valid choice" in answer.text


def test_every_kind_is_listed_with_its_fields_and_an_example(lab: Client) -> None:
    page = lab.get("/policy/").text
    assert set(kinds.EXAMPLES) == {*actions.KINDS, kinds.NETWORK}
    for kind, fields in kinds.EXAMPLES.items():
        assert f'name="example" value="{kind}"' in page
        entry = kinds.entry(kind)
        assert entry is not None
        known = {field["name"] for field in entry["fields"]}
        assert (
            {field["name"] for field in entry["fields"] if field["needed"]} <= set(fields) <= known
        )


@pytest.mark.thorough
@pytest.mark.parametrize("kind", kinds.EXAMPLES)
def test_an_example_is_filled_in_and_the_gate_answers_it(lab: Client, kind: str) -> None:
    data = wish("{ half an action", mode="plan", example=kind)
    filled = lab.post("/policy/", data)
    assert filled.status_code == 200
    form = filled.context["form"]
    assert json.loads(form["action"].value())["kind"] == kind
    assert form["mode"].value() == "plan", "the rest of the form stays as it was"
    answer = lab.post("/policy/", wish(form["action"].value()))
    assert answer.status_code == 200 and answer.context["verdict"] is not None
