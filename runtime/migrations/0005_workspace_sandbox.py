from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runtime", "0004_remembered_rules")]

    operations = [
        migrations.AddField(
            model_name="workspace",
            name="sandbox",
            field=models.CharField(default="", max_length=16),
        ),
    ]
