"""The actions as a model is shown them: as a JSON schema, and as text for the system prompt."""

from __future__ import annotations

from functools import cache
from typing import Any

from runtime.core.actions import ADAPTER, KINDS

DESCRIPTION = "Propose the one next action. Fill in only the fields that its kind has."
_KEPT = ("type", "minimum", "maximum", "items")


def offered() -> tuple[str, ...]:
    """The kinds of action that can be proposed, in the order of the action union."""
    return tuple(KINDS)


@cache
def action_schema() -> dict[str, Any]:
    """One flat object for all actions: `kind`, and every field that some kind has.

    Small local servers understand this better than a union, and it only guides the model: what
    comes back is held against the exact schema by the runtime. Do not change the value.
    """
    definitions = ADAPTER.json_schema()["$defs"]
    fields: dict[str, dict[str, Any]] = {}
    owners: dict[str, list[str]] = {}
    for kind in offered():
        for name, field in definitions[KINDS[kind].__name__]["properties"].items():
            if name != "kind":
                fields.setdefault(name, _plain(field))
                owners.setdefault(name, []).append(kind)
    properties: dict[str, Any] = {"kind": {"type": "string", "enum": list(offered())}}
    for name, field in fields.items():
        properties[name] = {
            **field,
            "description": "For " + ", ".join(owners[name]) + ".",
        }
    return {
        "type": "object",
        "properties": properties,
        "required": ["kind"],
        "additionalProperties": False,
    }


@cache
def union_schema() -> dict[str, Any]:
    """One object for each action, for servers that bind text to a schema: what a kind has not
    cannot be written. Do not change the value.
    """
    definitions = ADAPTER.json_schema()["$defs"]
    return {"type": "object", "anyOf": [_alone(kind, definitions) for kind in offered()]}


def _alone(kind: str, definitions: dict[str, Any]) -> dict[str, Any]:
    definition = definitions[KINDS[kind].__name__]
    fields = {
        name: _plain(field) for name, field in definition["properties"].items() if name != "kind"
    }
    return {
        "type": "object",
        "properties": {"kind": {"type": "string", "enum": [kind]}, **fields},
        "required": definition["required"],
        "additionalProperties": False,
    }


@cache
def field_names() -> frozenset[str]:
    """Every field that some action has."""
    return frozenset(action_schema()["properties"])


@cache
def schema_for_prompt() -> str:
    """All actions, one to a line: kind, fields with their types (`?` may be left out), meaning."""
    return "\n".join(_describe(kind) for kind in offered())


def _describe(kind: str) -> str:
    cls = KINDS[kind]
    schema = cls.model_json_schema()
    required = set(schema["required"])
    fields = ", ".join(
        f"{name}{'' if name in required else '?'}: {_type_name(_plain(field))}"
        for name, field in schema["properties"].items()
        if name != "kind"
    )
    meaning = " ".join((cls.__doc__ or "").split())
    return f"- {kind}{{{fields}}} {meaning}"


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    """A field's schema without titles, null and lengths (grammars grow with those)."""
    options = field.get("anyOf", [field])
    shown = next(option for option in options if option.get("type") != "null")
    plain = {name: shown[name] for name in _KEPT if name in shown}
    if "items" in plain:
        plain["items"] = _plain(plain["items"])
    return plain


def _type_name(field: dict[str, Any]) -> str:
    if field["type"] == "array":
        return f"[{_type_name(field['items'])}]"
    if "maximum" in field:
        return f"{field['type']} {field['minimum']}–{field['maximum']}"
    return str(field["type"])
