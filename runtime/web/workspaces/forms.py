"""A directory to register, as it comes from a form."""

from __future__ import annotations

import shlex

from django import forms

from runtime.models import Workspace

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

    def _lines(self, name: str) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data[name].splitlines() if line.strip()]
        if len(lines) > MOST_LINES:
            raise forms.ValidationError(f"At most {MOST_LINES} lines.")
        return lines
