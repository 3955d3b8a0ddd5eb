"""Take one guard out of the product's own text, and see whether anybody notices."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

import pytest


def without(patch: pytest.MonkeyPatch, owner: Any, name: str, text: str, instead: str) -> None:
    """Replace a piece of a function's source, which must stand there exactly once.

    The rest of the function stays as it is, so this goes on to mean what it says when the
    product changes, or fails.
    """
    function = inspect.unwrap(inspect.getattr_static(owner, name))
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(text) == 1, f"{name} has {text!r} {source.count(text)} times"
    made: dict[str, Any] = {}
    code = compile(
        "from __future__ import annotations\n" + source.replace(text, instead), name, "exec"
    )
    exec(code, function.__globals__, made)  # noqa: S102 - the product's own text
    patch.setattr(owner, name, made[name])
