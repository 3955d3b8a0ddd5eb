"""Events as rows of the timeline: one small renderer for each family.

`row` gives the view model, `render` its fragment. An unknown type is shown, never dropped.
"""

from __future__ import annotations

from .render import render, render_all, row

__all__ = ["render", "render_all", "row"]
