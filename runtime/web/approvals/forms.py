"""The answer to a question, as it comes from a form."""

from __future__ import annotations

from typing import Any

from django import forms

from runtime.approvals.deciding import MAX_COMMENT


class Decision(forms.Form):
    """Verdict, how far it reaches, a comment, and the digest of what was seen."""

    verdict = forms.ChoiceField(choices=[("approve", "Approve"), ("deny", "Deny")])
    scope = forms.ChoiceField(
        choices=[(name, name) for name in ("once", "task", "run", "workspace")], required=False
    )
    until = forms.DateField(required=False)
    comment = forms.CharField(max_length=MAX_COMMENT, required=False, strip=False)
    seen = forms.CharField(max_length=64)

    def clean(self) -> dict[str, Any]:
        """A workspace scope needs a date."""
        data: dict[str, Any] = self.cleaned_data
        if (
            data.get("scope") == "workspace"
            and not data.get("until")
            and "until" not in self.errors
        ):
            self.add_error("until", "Name the last day on which it counts.")
        return data

    def reach(self) -> str:
        """The scope as the service reads it."""
        scope = self.cleaned_data["scope"] or "once"
        if scope == "workspace":
            return f"workspace:{self.cleaned_data['until'].isoformat()}"
        return str(scope)
