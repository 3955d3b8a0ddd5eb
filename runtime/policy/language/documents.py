"""One policy file: its place among the layers, its rules, its faults."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from runtime.workflow import roles

from ..rules import LAYERS, Rule, RuleLayer
from . import examples
from .examples import MAX_EXAMPLES, Example
from .faults import Fault
from .fields import FIELDS

MAX_FILE = 256 << 10
"""Bytes of the largest file that is read."""
MAX_RULES = 500
MAX_FAULTS = 200
SINGLE = {"system": 1, "organisation": 2}
FOLDERS = {"workspaces": 3, "users": 4, "runs": 5, "roles": 6, "kinds": 7}
NAMES = {**SINGLE, "workspace": 3, "user": 4, "run": 5, "role": 6, "kind": 7}
"""What may stand as `layer` in a file."""
_SUBJECT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9@+._-]{0,149}")
_LISTS = ("match", "no_match")


@dataclass(frozen=True, slots=True)
class Document:
    """A policy file as it was read. `subject`: the workspace, user, run, role or kind whose it is,
    "" for all. With faults, `layer` holds only the rules that have none."""

    name: str
    text: str
    subject: str
    layer: RuleLayer
    examples: int
    faults: tuple[Fault, ...]


def place_of(name: str) -> tuple[int, str]:
    """Layer and subject of a file by its path below the policy folder. Raises `ValueError`."""
    folder, slash, file = name.rpartition("/")
    stem = file.removesuffix(".toml")
    if not slash and stem in SINGLE:
        return SINGLE[stem], ""
    if folder not in FOLDERS or not _SUBJECT.fullmatch(stem):
        places = ", ".join(
            [*(f"{one}.toml" for one in SINGLE), *(f"{f}/NAME.toml" for f in FOLDERS)]
        )
        raise ValueError(f"no layer has this file: {places}")
    known = {"roles": tuple(roles.ROLES), "kinds": tuple(roles.KINDS)}.get(folder)
    if known is not None and stem not in known:
        raise ValueError(f"{stem} is none of {', '.join(known)}")
    return FOLDERS[folder], stem


def read(name: str, text: str, number: int, subject: str = "") -> Document:
    """Read a file as one of a layer, examples included. Never raises: see `faults`."""
    reader = _Reader(name, number)
    rules = reader.rules(text)
    title = LAYERS[number] + (f" {subject}" if subject else "")
    layer = RuleLayer(number, title, tuple(rules))
    return Document(name, text, subject, layer, reader.examples, tuple(reader.faults))


def layer_named(text: str) -> str:
    """What a text says about its own layer ("" where it says nothing), however broken it is."""
    try:
        value = tomllib.loads(text).get("layer", "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return ""
    return value if isinstance(value, str) else ""


class _Reader:
    """Collects what is wrong while it reads on."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number
        self.faults: list[Fault] = []
        self.examples = 0

    def rules(self, text: str) -> list[Rule]:
        """The rules that can be used."""
        tables = self._tables(text)
        rules: list[Rule] = []
        seen: set[str] = set()
        for index, table in enumerate(tables, 1):
            title = str(table.get("id", "")) if isinstance(table, dict) else ""
            title = title[:80] if title.isprintable() and title else f"number {index}"
            if title in seen:
                self._fault(title, "id", "another rule of this file has it")
            seen.add(title)
            rule = self._rule(title, table)
            if rule is not None:
                rules.append(rule)
        return rules

    def _tables(self, text: str) -> list[Any]:
        try:
            given = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            self._fault("", "", f"this is no TOML: {error}")
            return []
        except RecursionError:
            self._fault("", "", "this is no TOML that anybody writes: too many brackets")
            return []
        for key in given.keys() - {"layer", "rule"}:
            self._fault("", key, "unknown; a file has `layer` and [[rule]]")
        layer = given.get("layer")
        if layer is not None and NAMES.get(layer if isinstance(layer, str) else "") != self.number:
            self._fault("", "layer", f"the file's place makes it one of {LAYERS[self.number]}")
        tables = given.get("rule", [])
        if not isinstance(tables, list):
            self._fault("", "rule", "write [[rule]] before each rule")
            return []
        if len(tables) > MAX_RULES:
            self._fault("", "rule", f"{len(tables)} rules are over the bound of {MAX_RULES}")
            return []
        return tables

    def _rule(self, title: str, table: Any) -> Rule | None:
        before = len(self.faults)
        if not isinstance(table, dict):
            self._fault(title, "", "a rule is a table: write [[rule]] before it")
            return None
        for key in table.keys() - FIELDS.keys() - set(_LISTS):
            self._fault(title, key, f"unknown; a rule has {', '.join([*FIELDS, *_LISTS])}")
        for key in ("id", "decision"):
            if key not in table:
                self._fault(title, key, "is missing")
        values = self._values(title, table)
        given = {name: self._examples(title, name, table, values) for name in _LISTS}
        if len(self.faults) > before:
            return None
        for name, found in given.items():
            values[name] = tuple(one.as_text() for one in found)
        try:
            rule = Rule(**values)
        except ValueError as error:
            self._fault(title, "", str(error).removeprefix(f"rule {title}: "))
            return None
        self._try(rule, given)
        return rule if len(self.faults) == before else None

    def _values(self, title: str, table: dict[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, read_field in FIELDS.items():
            if key in table:
                try:
                    values[key] = read_field(table[key])
                except ValueError as error:
                    self._fault(title, key, str(error))
        return values

    def _examples(
        self, title: str, name: str, table: dict[str, Any], values: dict[str, Any]
    ) -> list[Example]:
        given = table.get(name, [])
        if not isinstance(given, list) or len(given) > MAX_EXAMPLES:
            self._fault(title, name, f"write a list of at most {MAX_EXAMPLES} examples")
            return []
        found = []
        for index, value in enumerate(given, 1):
            try:
                found.append(examples.parse(value, values.get("tool", ())))
            except ValueError as error:
                self._fault(title, f"{name} {index}", str(error))
        self.examples += len(given)
        return found

    def _try(self, rule: Rule, given: dict[str, list[Example]]) -> None:
        for name, found in given.items():
            for index, example in enumerate(found, 1):
                if examples.matches(rule, example) is not (name == "match"):
                    says = "does not match" if name == "match" else "matches"
                    shown = _shown(example)
                    self._fault(rule.id, f"{name} {index}", f"the rule {says} {shown}")

    def _fault(self, rule: str, field: str, message: str) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(Fault(self.name, rule, field, message))


def _shown(example: Example) -> str:
    """An example for people, of bounded length."""
    action = example.action
    text = str(action.get("script") or "") or example.as_text()
    return text if len(text) <= 200 else f"{text[:200]}…"
