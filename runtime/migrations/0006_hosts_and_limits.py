from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runtime", "0005_workspace_sandbox")]

    operations = [
        migrations.AddField(
            model_name="workspace",
            name="hosts",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="trace",
            name="limit",
            field=models.CharField(max_length=32, null=True),
        ),
    ]
