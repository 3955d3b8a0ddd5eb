"""What a reviewer sees, and what was decided about the like before."""

from __future__ import annotations

from typing import Any, TypedDict

from runtime.core import canonical
from runtime.models import Approval
from runtime.policy import Remembered


class Card(TypedDict, total=False):
    """The content of an approval card. Everything in it is shown escaped."""

    sentence: str
    action: dict[str, Any]
    diff: str
    reason: str
    rule: str
    stages: list[list[str]]
    risk: str
    effects: list[str]
    sandbox: dict[str, Any]
    paths: list[str]
    root: str
    mode: str
    role: str
    tree: str
    verification_inputs: list[str]
    guarded_files: list[str]
    question: str
    offers: list[dict[str, Any]]
    """Rules that may be remembered in place of the exact action, as plain data."""


def card(approval: Approval) -> Card:
    """The card of an approval."""
    content: Card = canonical.decode(approval.card)
    return content


def offers(approval: Approval) -> tuple[Remembered, ...]:
    """The rules that the card offers to remember."""
    return tuple(Remembered.parse(one) for one in card(approval).get("offers", []))


def similar(approval: Approval, limit: int = 5) -> list[Approval]:
    """Earlier approvals of the same action, the latest first."""
    same = Approval.objects.filter(key=approval.key).exclude(pk=approval.pk)
    return list(same.order_by("-requested_at", "-id")[:limit])
