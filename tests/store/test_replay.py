"""The tables say what the journal says; whoever changes them is found, and they can be made anew."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from django.db import models

from runtime.journal.append import now
from runtime.models import (
    Artifact,
    Task,
    Workspace,
)
from runtime.runs import replay
from tests.store.player import MODELS, Player, picture, rich
from tests.store.store_kit import (
    a_run,
    recompute,
    without_guards,
)

pytestmark = pytest.mark.usefixtures("both")


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2, 3))]
)
def test_whatever_happens_the_tables_agree_with_the_journal(people, seed):
    chance = random.Random(seed)
    keys = ["a", "b", "c"][: 1 + seed % 3]
    needs = {"c": ["a"]} if "c" in keys else {}
    for _ in range(2):
        run = a_run(*keys, needs=needs, max_attempts=2)
        player = Player(people, run, chance)
        for _ in range(8):
            player.play(2)
            assert replay.check(run.pk) == ""
        recompute(run.pk)
        before = picture(run.pk)
        replay.rebuild(run.pk)
        assert replay.check(run.pk) == ""
        assert picture(run.pk) == before


NO_PROJECTION = {
    "Task": {"available_at", "lease_seq", "lease_expires_at", "reserved", "run", "id"},
    "Run": {"id", "anchored_seq"},
    "Artifact": {"created_at", "id", "run"},
    "Approval": {"id", "run"},
    "Grant": {"id"},
    "Trace": {"id", "run", "seq"},
    "PolicyDecision": {"id", "run", "seq"},
}
"""Keys, and what the run's own chain does not hold (anchors stand in the system's)."""
KEYS = {(Artifact, "action"), (Artifact, "sha256"), (Artifact, "name")}
"""With another of these it is another reference, and the one of the journal is missing."""
SPECIAL: dict[tuple[str, str], Any] = {
    ("Task", "state"): "failed",
    ("Task", "write_paths"): ["x"],
    ("Approval", "state"): "denied",
}


def _other(field: models.Field, value: Any, row: models.Model) -> Any:
    """Another value that the column takes."""
    special = SPECIAL.get((type(row).__name__, field.name))
    if special is not None:
        return special
    if isinstance(field, models.ForeignKey):
        others = field.related_model._default_manager.exclude(pk=value)
        return others.values_list("pk", flat=True).first()
    if isinstance(field, models.BooleanField):
        return not value
    if isinstance(field, models.DateTimeField):
        return (value or now()) + timedelta(seconds=1)
    if isinstance(field, models.IntegerField):
        return (value or 0) + 1
    text = "x" if not value else ("y" if value[0] == "x" else "x") + value[1:]
    return text


def test_every_column_of_every_projection_is_compared(people):
    run = rich(people)
    Workspace.objects.create(
        name="other", root="/o", is_git=True, created_at=now(), created_by="alice"
    )
    without_guards()
    missed = []
    for model, join, order in MODELS:
        row = model._default_manager.filter(**{join: run.pk}).order_by(order).last()
        for field in model._meta.concrete_fields:
            if field.name in NO_PROJECTION[model.__name__]:
                continue
            before = getattr(row, field.attname)
            after = _other(field, before, row)
            assert after != before, field
            rows = model._default_manager.filter(pk=row.pk)
            more: dict[str, Any] = {}
            if (model, field.name) == (Task, "state") and row.lease_expires_at:
                more = {"lease_expires_at": None}
            rows.update(**{field.attname: after}, **more)
            difference = replay.check(run.pk)
            named = field.name in difference or (model, field.name) in KEYS
            if not difference or not named:
                missed.append((model.__name__, field.name, difference))
            restore = {name: getattr(row, name) for name in more}
            rows.update(**{field.attname: before}, **restore)
            assert replay.check(run.pk) == ""
    assert missed == []
