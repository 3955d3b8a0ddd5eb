"""The built-in rules as a reader sees them: by layer, with what they decide, why, and examples."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from runtime.policy import builtin
from runtime.policy.builtin import BuiltIn
from runtime.present import badges, html, text

_SECTIONS = (
    ("layer-0", "Layer 0, built-in safety", "Lifted by nobody.", ("veto",)),
    (
        "layer-9",
        "Layer 9, developer defaults",
        "They hold for the parts of an action about which no rule of a file speaks.",
        ("defaults",),
    ),
    (
        "beside-layers",
        "Stages beside the layers",
        "What an action must be, and what role, mode and record ask of it, whatever the rules.",
        ("intake", "canonicalise", "boundary", "role", "mode", "grants", "audit"),
    ),
)
"""Anchor, title, what for, and the stages whose rules stand there."""


@lru_cache(maxsize=1)
def sections() -> list[dict[str, Any]]:
    """Every built-in rule. The same for as long as the process lives."""
    found = []
    for anchor, title, does, stages in _SECTIONS:
        rules = [one for one in builtin.catalogue() if one.stage in stages]
        found.append(
            {
                "anchor": anchor,
                "title": title,
                "does": does,
                "count": len({name for one in rules for name in one.names}),
                "staged": len(stages) > 1,
                "rules": [_shown(one) for one in rules],
            }
        )
    return found


def _shown(one: BuiltIn) -> dict[str, Any]:
    return {
        "stage": one.stage,
        "badge": badges.decision(str(one.decision)),
        "names": text.visible(", ".join(one.names)),
        "reason": text.visible(one.reason),
        "example": html.code(_line(one.rules[0].action)),
        "around": text.marked(one.rules[0].around),
    }


def _line(action: Mapping[str, Any]) -> str:
    """An action in one line: a command as it is typed, anything else by its kind and fields."""
    fields = {name: value for name, value in action.items() if name != "kind"}
    if action["kind"] == "run_shell":
        return str(fields["script"])
    if action["kind"] == "run_tool":
        words = shlex.join([fields.pop("program"), *fields.pop("args")])
        return f"{words}  {json.dumps(fields)}" if fields else words
    values = [value if isinstance(value, str) else json.dumps(value) for value in fields.values()]
    return " ".join([str(action["kind"]), *values])
