"""The wish for a run, as it comes from a form."""

from __future__ import annotations

import os
from typing import Any

from django import forms

from runtime import budgets, providers
from runtime.core.errors import BadInput
from runtime.models import Workspace
from runtime.runs.submitting import MAX_ATTEMPTS, MAX_OBJECTIVE, MAX_STEPS

MODES = (
    ("assisted", "Assisted", "Ordinary work goes on; what reaches further asks a person."),
    ("safe", "Safe", "Every change asks a person first, even an edit."),
    ("plan", "Plan", "Reads and thinks; every change is denied."),
    (
        "autonomous",
        "Autonomous",
        "Asks less: what stays in the worktree without network is allowed.",
    ),
    ("unattended", "Unattended", "Asks nobody: what would need a person is denied."),
)


class NewRun(forms.Form):
    """What is wanted, where, by which model, and how far it may go."""

    workspace = forms.ChoiceField(label="Workspace")
    objective = forms.CharField(
        label="Objective",
        max_length=MAX_OBJECTIVE,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="What should be true at the end. The model reads exactly this text.",
    )
    provider = forms.CharField(
        label="Model",
        max_length=512,
        required=False,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    mode = forms.ChoiceField(label="Mode", choices=[(name, title) for name, title, _ in MODES])
    require_edit = forms.BooleanField(
        label="Require a change",
        required=False,
        help_text="The run may not finish before something was changed.",
    )
    max_steps = forms.IntegerField(
        label="Steps at most", min_value=1, max_value=MAX_STEPS, initial=100
    )
    max_attempts = forms.IntegerField(
        label="Attempts at most",
        min_value=1,
        max_value=MAX_ATTEMPTS,
        initial=3,
        help_text="How often a task starts again after its worker died.",
    )
    budget = forms.CharField(
        label="Other budgets",
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="NAME=VALUE, one a line: cost=2.50, wall_seconds=90m. Those that are not named "
        "are the workspace’s.",
    )
    key = forms.CharField(max_length=64, widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, names: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["workspace"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in names]
        default = providers.configured(os.environ)
        self.fields["provider"].help_text = (
            f"Left empty, it is {default}."
            if default
            else "No default is set. For example openai:MODEL."
        )

    def clean_budget(self) -> dict[str, int]:
        """One budget a line."""
        lines = [line.strip() for line in self.cleaned_data["budget"].splitlines() if line.strip()]
        try:
            return budgets.parse(lines)
        except BadInput as error:
            raise forms.ValidationError(str(error)) from error

    def clean_provider(self) -> str:
        """A model must be known, and a script comes from the command line, not from this server."""
        spec = str(self.cleaned_data["provider"]).strip()
        if spec.startswith("scripted:"):
            raise forms.ValidationError("Scripts are given on the command line: `m31a submit`.")
        if not spec and providers.configured(os.environ) is None:
            raise forms.ValidationError(
                "No model is configured. Set M31A_PROVIDER where the server runs, "
                "or name one here, for example openai:MODEL."
            )
        return spec


def names() -> list[str]:
    """Workspaces to choose from."""
    return list(Workspace.objects.order_by("name").values_list("name", flat=True)[:500])
