"""The answer to a question, as it comes from a form."""

from __future__ import annotations

import json
from typing import Any

from django import forms

from runtime.approvals.answers import MAX_BATCH
from runtime.approvals.deciding import MAX_COMMENT

MAX_EDITED = 200_000
"""Characters of an action that a page lets somebody change."""


class Decision(forms.Form):
    """Verdict, how far it reaches, the rule to remember (its digest; empty: exactly this action),
    a comment, and the digest of what was seen."""

    verdict = forms.ChoiceField(choices=[("approve", "Approve"), ("deny", "Deny")])
    scope = forms.ChoiceField(
        choices=[(name, name) for name in ("once", "task", "run", "workspace")], required=False
    )
    until = forms.DateField(required=False)
    rule = forms.CharField(max_length=64, required=False)
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

    def remembers(self) -> str:
        """The rule that counts: an answer for once, and a denial, remember none."""
        data = self.cleaned_data
        wider = data["verdict"] == "approve" and data["scope"] not in ("", "once")
        return str(data["rule"]) if wider else ""

    def reach(self) -> str:
        """The scope as the service reads it."""
        scope = self.cleaned_data["scope"] or "once"
        if scope == "workspace":
            return f"workspace:{self.cleaned_data['until'].isoformat()}"
        return str(scope)


class Edit(forms.Form):
    """An action in the place of the one that is asked about, and the digest of what was seen."""

    action = forms.CharField(max_length=MAX_EDITED, strip=False)
    seen = forms.CharField(max_length=64)

    def clean_action(self) -> Any:
        """The text as JSON."""
        try:
            return json.loads(self.cleaned_data["action"])
        except (ValueError, RecursionError) as error:
            raise forms.ValidationError(f"This is no JSON: {error}") from error


class Batch(forms.Form):
    """One answer to several questions; each is chosen with the digest of what was seen."""

    verdict = forms.ChoiceField(choices=[("approve", "Approve"), ("deny", "Deny")])
    comment = forms.CharField(max_length=MAX_COMMENT, required=False, strip=False)

    def chosen(self) -> list[tuple[str, str]]:
        """Pairs of id and digest, in the order of the page."""
        given = self.data.getlist("chosen")[: MAX_BATCH + 1]  # type: ignore[attr-defined]
        pairs = (value.partition(":") for value in given)
        return [(identifier[:26], digest[:64]) for identifier, _, digest in pairs]
