"""An action to try, as it comes from a form."""

from __future__ import annotations

import json
from typing import Any

from django import forms

from runtime.policy.language import MAX_FILE
from runtime.policy.language.documents import NAMES
from runtime.web.new.forms import MODES
from runtime.workflow import roles

from . import kinds

MAX_ACTION = 64_000
FIRST = "run_tool"
"""The kind whose example a fresh form holds."""


class Try(forms.Form):
    """An action with the place where it would happen."""

    workspace = forms.ChoiceField(label="Workspace")
    mode = forms.ChoiceField(label="Mode", choices=[(name, title) for name, title, _ in MODES])
    role = forms.ChoiceField(
        label="Role", choices=[(name, name) for name in roles.ROLES], initial="implementer"
    )
    kind = forms.ChoiceField(
        label="Kind of task",
        choices=[(name, name) for name in roles.KINDS],
        initial="implementation",
    )
    cwd = forms.CharField(label="Folder", max_length=4096, initial=".")
    action = forms.CharField(
        label="Action",
        max_length=MAX_ACTION,
        initial=kinds.example(FIRST),
        widget=forms.Textarea(attrs={"rows": 7, "spellcheck": "false", "class": "mono"}),
        help_text="JSON with a kind and the fields of that kind. Nothing is run or recorded.",
    )
    faults: list[dict[str, str]]
    """What keeps the given action from being one, field by field; for the template."""
    needs: dict[str, Any] | None
    """The kind whose fields the given action should have; None where that is unknown."""

    def __init__(self, *args: Any, names: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.faults, self.needs = [], None
        field = self.fields["workspace"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in names]

    def clean_action(self) -> Any:
        """The action. What does not fit the schema is a slip of the pen, no verdict of the gate."""
        try:
            action = json.loads(self.cleaned_data["action"])
        except (ValueError, RecursionError) as error:
            raise forms.ValidationError(f"This is no JSON: {error}.") from None
        self.faults = kinds.faults(action)
        if self.faults:
            kind = action.get("kind") if isinstance(action, dict) else None
            self.needs = kinds.entry(kind)
            raise forms.ValidationError("This is not yet an action; the gate was not asked.")
        return action


class Backtest(forms.Form):
    """A changed policy file, to be tried on what was recorded."""

    layer = forms.ChoiceField(label="Layer", choices=[(name, name) for name in NAMES])
    subject = forms.CharField(
        label="Name", max_length=150, required=False, help_text="Of the workspace, user, run, …"
    )
    text = forms.CharField(
        label="Policy file",
        max_length=MAX_FILE,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "mono"}),
        help_text="TOML, in the place of the file of that layer. Nothing of it takes effect.",
    )

    def clean(self) -> dict[str, Any]:
        """A layer that belongs to somebody needs to know to whom."""
        given = self.cleaned_data
        alone = given.get("layer") in ("system", "organisation")
        if not alone and not given.get("subject"):
            self.add_error("subject", "Say whose it is.")
        return given
