from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runtime", "0003_account_once")]

    operations = [
        migrations.AddField(
            model_name="grant",
            name="rule",
            field=models.TextField(default=""),
        ),
    ]
