"""An action to try, as it comes from a form."""

from __future__ import annotations

import json
from typing import Any

from django import forms

from runtime.policy.language import MAX_FILE
from runtime.policy.language.documents import NAMES
from runtime.web.new.forms import MODES

MAX_ACTION = 64_000
EXAMPLE = '{"kind": "run_tool", "program": "git", "args": ["push", "origin", "main"]}'


class Try(forms.Form):
    """An action with the place where it would happen."""

    workspace = forms.ChoiceField(label="Workspace")
    mode = forms.ChoiceField(label="Mode", choices=[(name, title) for name, title, _ in MODES])
    role = forms.CharField(label="Role", max_length=32, initial="implementer")
    kind = forms.CharField(label="Kind of task", max_length=32, initial="implementation")
    cwd = forms.CharField(label="Folder", max_length=4096, initial=".")
    action = forms.CharField(
        label="Action",
        max_length=MAX_ACTION,
        initial=EXAMPLE,
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false", "class": "mono"}),
        help_text="JSON with a kind and the fields of that kind. Nothing is run or recorded.",
    )

    def __init__(self, *args: Any, names: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["workspace"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in names]

    def clean_action(self) -> Any:
        """The decoded JSON; whether it is an action is for the gate to say."""
        try:
            return json.loads(self.cleaned_data["action"])
        except ValueError as error:
            raise forms.ValidationError(f"This is no JSON: {error}.") from None


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
