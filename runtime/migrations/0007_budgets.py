from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runtime", "0006_hosts_and_limits")]

    operations = [
        migrations.AddField("run", "budgets", models.TextField(default="")),
        migrations.AddField("task", "spent", models.TextField(default="")),
        migrations.AddField("task", "reserved", models.TextField(default="")),
        migrations.AddField("workspace", "budgets", models.JSONField(default=dict)),
        migrations.AddField(
            "workspace", "provider_retries", models.PositiveSmallIntegerField(default=0)
        ),
        migrations.AddField("workspace", "fallback", models.CharField(default="", max_length=512)),
    ]
