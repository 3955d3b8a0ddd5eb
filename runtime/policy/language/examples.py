"""Examples that a rule brings along: what it must match, and what it must not.

An example is a command line, an action, or a table around either that says more:
`{ command = "git push", mode = "safe", at = 2030-01-01T10:00:00Z }`.
"""

from __future__ import annotations

import posixpath
import shlex
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runtime.core import actions, canonical, clock
from runtime.workflow import roles

from .. import hosts
from ..canonicalise import read
from ..context import MODES
from ..places import Lens
from ..reading import Part
from ..rules import EVERY, Circumstances, Rule
from ..testing import Link, World
from .fields import moment

MAX_EXAMPLES = 50
_AROUND = ("role", "kind", "mode", "at", "links")


@dataclass(frozen=True, slots=True)
class Example:
    """One example. `links` are symbolic links that exist: path to target."""

    action: dict[str, Any]
    role: str = ""
    kind: str = ""
    mode: str = ""
    at: datetime | None = None
    links: dict[str, str] = field(default_factory=dict)

    def as_text(self) -> str:
        """The example as canonical JSON, for people and for the hash."""
        given: dict[str, Any] = {"action": self.action}
        given |= {
            name: value for name in ("role", "kind", "mode") if (value := getattr(self, name))
        }
        if self.at is not None:
            given["at"] = clock.stamp(self.at)
        if self.links:
            given["links"] = self.links
        return canonical.text(given)


def parse(value: Any, tools: tuple[str, ...]) -> Example:
    """Read an example of a rule for some tools. Raises `ValueError`."""
    if isinstance(value, str):
        return Example(_command(value, tools))
    if not isinstance(value, dict):
        raise ValueError("an example is a command line or a table")
    if "action" not in value and "command" not in value:
        return Example(_action(value))
    unknown = value.keys() - {"action", "command", *_AROUND}
    if unknown:
        raise ValueError(f"unknown field {sorted(unknown)[0]!r}")
    if "action" in value and "command" in value:
        raise ValueError("an action or a command, not both")
    if "command" in value:
        if not isinstance(value["command"], str):
            raise ValueError("command: a text is needed")
        action = _command(value["command"], tools)
    else:
        action = _action(value["action"])
    return Example(
        action,
        role=_known(value, "role", tuple(roles.ROLES)),
        kind=_known(value, "kind", tuple(roles.KINDS)),
        mode=_known(value, "mode", MODES),
        at=moment(value["at"]) if "at" in value else None,
        links=_links(value.get("links", {})),
    )


def _command(text: str, tools: tuple[str, ...]) -> dict[str, Any]:
    """A command line as shell text, or for rules about `run_tool` alone as its words."""
    if not text.strip():
        raise ValueError("the command is empty")
    if not tools or "run_shell" in tools or EVERY in tools:
        return _action({"kind": "run_shell", "script": text})
    if "run_tool" not in tools:
        raise ValueError("the rule is about no commands: write the action as a table")
    words = shlex.split(text)
    return _action({"kind": "run_tool", "program": words[0], "args": words[1:]})


def _action(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("action: a table is needed")
    if value.get("kind") == "network":
        hosts.parse(value)
        return dict(value)
    return actions.parse(value).body()


def _known(value: dict[str, Any], name: str, known: tuple[str, ...]) -> str:
    given = value.get(name, "")
    if name in value and given not in known:
        raise ValueError(f"{name}: one of {', '.join(known)}")
    return str(given)


def _links(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise ValueError('links: write a table, such as { "docs/x" = "../secrets" }')
    return dict(value)


def matches(rule: Rule, example: Example) -> bool:
    """Whether the rule speaks about the example: a permitting one about all of it, any other
    about a part of it."""
    around = Circumstances(
        role=example.role or _first(rule.role, "implementer"),
        kind=example.kind or _first(rule.kind, "implementation"),
        mode=example.mode or _first(rule.mode, "assisted"),
        moment=example.at,
        any_time=example.at is None,
    )
    found = [rule.matches(part, around) for part in _parts(example)]
    return all(found) if rule.permits else any(found)


def _first(wanted: tuple[str, ...], usual: str) -> str:
    return usual if not wanted or usual in wanted else wanted[0]


def _parts(example: Example) -> tuple[Part, ...]:
    world = World()
    for path, target in example.links.items():
        place = posixpath.normpath(posixpath.join(world.root, path))
        world.files[place] = Link(target)
    context = world.context()
    subject = (
        hosts.parse(example.action)
        if example.action.get("kind") == "network"
        else actions.parse(example.action)
    )
    return read(subject, context, Lens.of(context)).parts
