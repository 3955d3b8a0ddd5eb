"""What the model is told of the actions follows the actions themselves."""

from __future__ import annotations

from runtime.core.actions import KINDS
from runtime.providers import schema_for_prompt
from runtime.providers.schema import action_schema, offered, union_schema


def test_schema_offers_every_kind_that_works_and_no_other() -> None:
    assert set(offered()) == set(KINDS)
    assert action_schema()["properties"]["kind"]["enum"] == list(offered())


def test_schema_has_every_field_of_every_kind() -> None:
    fields = {name for kind in offered() for name in KINDS[kind].model_fields}
    assert set(action_schema()["properties"]) == fields


def test_schema_names_no_type_that_small_servers_stumble_over() -> None:
    for field in action_schema()["properties"].values():
        assert field["type"] in ("string", "integer", "boolean", "array")
        assert not {"anyOf", "$ref", "default"} & set(field)


def test_prompt_text_describes_each_kind_once_with_its_fields() -> None:
    lines = schema_for_prompt().splitlines()
    assert len(lines) == len(offered())
    read = next(line for line in lines if line.startswith("- read_file{"))
    assert "path: string, offset?: integer" in read
    assert "Read a text file" in read
    assert "args?: [string]" in schema_for_prompt()


def test_schema_for_text_has_one_object_for_each_kind() -> None:
    found = {one["properties"]["kind"]["enum"][0]: one for one in union_schema()["anyOf"]}
    assert set(found) == set(offered())
    for kind, one in found.items():
        assert set(one["properties"]) == set(KINDS[kind].model_fields)
        assert "kind" in one["required"]
        assert one["additionalProperties"] is False
