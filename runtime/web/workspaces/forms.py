"""A directory to register, as it comes from a form."""

from __future__ import annotations

import shlex

from django import forms

from runtime import budgets
from runtime.core.errors import BadInput
from runtime.models import Workspace
from runtime.runs.registering import MAX_RETRIES

MOST_LINES = 50
_LINES = {"rows": 2, "spellcheck": "false"}


class NewWorkspace(forms.Form):
    """Name, path, verification, programs. One command or program a line."""

    name = forms.CharField(max_length=64, label="Name")
    path = forms.CharField(
        max_length=4096,
        label="Directory",
        help_text="An absolute path on the machine that the server runs on.",
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )
    verify = forms.CharField(
        label="Verification",
        required=False,
        widget=forms.Textarea(attrs=_LINES),
        help_text="Commands that must pass before a run is delivered, one a line; run without a "
        "shell. Without one, a run that edits cannot finish.",
    )
    allow = forms.CharField(
        label="Allow programs as well",
        required=False,
        widget=forms.Textarea(attrs=_LINES),
        help_text="Added to the preset of engineering tools, one a line.",
    )
    allow_only = forms.CharField(
        label="Allow only these programs",
        required=False,
        widget=forms.Textarea(attrs=_LINES),
        help_text="Replaces the preset, one a line.",
    )
    env = forms.CharField(
        label="Environments",
        required=False,
        widget=forms.Textarea(attrs=_LINES),
        help_text="Directories mounted read-only, one a line; .venv, venv and node_modules are found.",
    )
    host = forms.CharField(
        label="Hosts",
        required=False,
        widget=forms.Textarea(attrs=_LINES),
        help_text="What a command may reach once its network is approved, beyond the hosts that it "
        "names: example.org, example.org:8443 or *.example.org, one a line.",
    )
    budget = forms.CharField(
        label="Budgets of its runs",
        required=False,
        widget=forms.Textarea(attrs=_LINES),
        help_text="NAME=VALUE, one a line: cost=5.00, wall_seconds=2h, output_bytes=1G.",
    )
    provider_retries = forms.IntegerField(
        label="Tries after a failed call of the model",
        required=False,
        min_value=0,
        max_value=MAX_RETRIES,
        initial=0,
        help_text="Each after a while. None: the task fails, what it changed is kept.",
    )
    fallback = forms.CharField(
        label="Another model for then",
        required=False,
        max_length=512,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
        help_text="Takes the place of the first for the rest of the task. For example openai:MODEL.",
    )
    retention = forms.ChoiceField(
        label="Keep output", choices=Workspace.Retention.choices, initial="redacted"
    )

    sandbox = forms.ChoiceField(
        label="Confinement",
        required=False,
        choices=[
            ("", "the whole cage, or nothing runs"),
            ("landlock", "accept Landlock where bubblewrap does not work (weaker)"),
            ("none", "none: commands can do what the account can"),
        ],
    )

    def clean_path(self) -> str:
        """A page has no current directory: the path must say all of it."""
        path = str(self.cleaned_data["path"])
        if not path.startswith(("/", "~")):
            raise forms.ValidationError(
                f"{path} is no absolute path: start it with / (or ~ for the server's own home)."
            )
        return path

    def clean_verify(self) -> list[str]:
        """Lines that a shell would split into words."""
        lines = self._lines("verify")
        for number, line in enumerate(lines, 1):
            try:
                shlex.split(line)
            except ValueError as error:
                raise forms.ValidationError(f"Line {number}: {error}.") from None
        return lines

    def clean_allow(self) -> list[str]:
        """One program a line."""
        return self._lines("allow")

    def clean_allow_only(self) -> list[str]:
        """One program a line."""
        return self._lines("allow_only")

    def clean_env(self) -> list[str]:
        """One directory a line."""
        return self._lines("env")

    def clean_host(self) -> list[str]:
        """One host a line."""
        return self._lines("host")

    def clean_budget(self) -> dict[str, int]:
        """One budget a line."""
        try:
            return budgets.parse(self._lines("budget"))
        except BadInput as error:
            raise forms.ValidationError(str(error)) from error

    def clean_provider_retries(self) -> int:
        """Left empty, none."""
        return int(self.cleaned_data["provider_retries"] or 0)

    def _lines(self, name: str) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data[name].splitlines() if line.strip()]
        if len(lines) > MOST_LINES:
            raise forms.ValidationError(f"At most {MOST_LINES} lines.")
        return lines
