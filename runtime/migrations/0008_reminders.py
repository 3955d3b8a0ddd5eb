from __future__ import annotations

from typing import Any

from django.db import migrations, models

PAGE = 500


def due(apps: Any, schema_editor: Any) -> None:
    """Questions of before are reminded of past half of their time, too."""
    rows = apps.get_model("runtime", "Approval").objects.order_by("pk")
    last = ""
    while page := list(rows.filter(pk__gt=last)[:PAGE]):
        for row in page:
            row.remind_at = row.requested_at + (row.expires_at - row.requested_at) / 2
        rows.bulk_update(page, ["remind_at"])
        last = page[-1].pk


class Migration(migrations.Migration):
    dependencies = [("runtime", "0007_budgets")]

    operations = [
        migrations.AddField("approval", "reminded", models.PositiveSmallIntegerField(default=0)),
        migrations.AddField("approval", "remind_at", models.DateTimeField(null=True)),
        migrations.AddIndex(
            "approval", models.Index(fields=["state", "remind_at"], name="approval_reminders")
        ),
        migrations.RunPython(due, migrations.RunPython.noop),
    ]
