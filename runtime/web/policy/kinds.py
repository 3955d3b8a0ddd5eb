"""The kinds of actions for somebody who fills in the lab: fields, limits, an example of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from runtime.core import actions
from runtime.policy import hosts
from runtime.present import text

NETWORK = "network"
"""The one kind that no model can propose: only the lab and `policy check` know it."""
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "read_file": {"path": "README.md", "offset": 1, "limit": 40},
    "list_files": {"path": "."},
    "glob": {"pattern": "**/*.py"},
    "grep": {"pattern": "average", "path": "."},
    "replace_text": {"path": "notes.txt", "expected": "first", "replacement": "last"},
    "write_file": {"path": "notes.txt", "content": "One line.\n"},
    "apply_patch": {"patch": "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-first\n+last\n"},
    "run_tool": {"program": "git", "args": ["push", "origin", "main"]},
    "run_shell": {"script": "ls -l | wc -l"},
    "verify": {},
    "git_status": {},
    "git_diff": {"path": "notes.txt"},
    "git_log": {"limit": 10},
    "git_show": {"rev": "HEAD"},
    "git_commit": {"message": "Mend the average"},
    "git_push": {"remote": "origin", "ref": "main"},
    "create_artifact": {"name": "plan.md", "content": "1. Read. 2. Mend.\n"},
    "read_artifact": {"id": "0" * 64},
    "start_job": {"program": "python3", "args": ["-m", "http.server"]},
    "job_output": {"job": "1"},
    "stop_job": {"job": "1"},
    "ask_human": {"question": "Which of the two is meant?"},
    "finish": {"summary": "The average is right; the tests pass."},
    NETWORK: {"method": "GET", "target": "https://example.org/"},
}
_SAID = {
    "Field required": "this field is needed",
    "Extra inputs are not permitted": "there is no such field in this kind of action",
    "Input should be a valid string": "a text is needed",
    "Input should be a valid list": "a list of texts is needed",
    "Input should be a valid integer": "a whole number is needed",
    "Input should be a valid boolean": "true or false is needed",
}
_TYPES = {"integer": "whole number", "boolean": "true or false", "string": "text"}


def example(kind: str) -> str:
    """A filled-in action of a kind, as JSON for the form; empty where there is no such kind."""
    if kind not in EXAMPLES:
        return ""
    fields = {"kind": kind, **EXAMPLES[kind]}
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


@lru_cache(maxsize=1)
def catalogue() -> list[dict[str, Any]]:
    """Every kind with what it does and its fields."""
    known = [
        {"name": name, "does": text.marked(_does(cls)), "fields": _fields(cls.model_json_schema())}
        for name, cls in actions.KINDS.items()
    ]
    network = {
        "name": NETWORK,
        "does": "Send a request. No model can propose it; commands could try.",
        "fields": [
            {
                "name": "method",
                "type": f"one of {', '.join(sorted(hosts.METHODS))}",
                "needed": True,
            },
            {"name": "target", "type": "text: an address", "needed": True},
        ],
    }
    return [*known, network]


def entry(kind: object) -> dict[str, Any] | None:
    """One kind of the catalogue; None where there is no such kind."""
    return next((one for one in catalogue() if one["name"] == kind), None)


def faults(action: object) -> list[dict[str, str]]:
    """What keeps a decoded text from being an action: each fault with the field that it is in."""
    try:
        if isinstance(action, dict) and action.get("kind") == NETWORK:
            hosts.parse(action)
        else:
            actions.parse(action)
    except (actions.InvalidAction, hosts.InvalidRequest) as error:
        return [_fault(line) for line in str(error).split("; ")]
    return []


def _fault(line: str) -> dict[str, str]:
    """`program: Field required` taken apart; a fault of the whole belongs to no field."""
    field, colon, said = line.partition(": ")
    if not colon:
        return {"field": "", "says": line}
    return {"field": field, "says": _SAID.get(said, said)}


def _does(cls: type[actions.Action]) -> str:
    return " ".join((cls.__doc__ or "").split())


def _fields(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    needed = set(schema.get("required", ()))
    return [
        {"name": name, "type": _type(spec), "needed": name in needed}
        for name, spec in schema["properties"].items()
        if name != "kind"
    ]


def _type(spec: Mapping[str, Any]) -> str:
    """A field's type in words, with the bounds of a number."""
    given = next((one for one in spec.get("anyOf", ()) if one.get("type") != "null"), spec)
    if given.get("type") == "array":
        return "list of texts"
    words = _TYPES.get(str(given.get("type")), str(given.get("type")))
    if "minimum" in given:
        words += f", {given['minimum']:,} to {given['maximum']:,}"
    return words
