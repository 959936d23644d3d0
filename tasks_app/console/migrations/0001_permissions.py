"""Makes the content type that the console's permissions hang on. No table."""

from __future__ import annotations

from django.db import migrations, models

from tasks_app.domain.roles import Right


class Migration(migrations.Migration):
    """The permissions themselves are made by Django after every migrate, the roles' groups right after them."""

    initial = True
    dependencies = [("contenttypes", "0002_remove_content_type_name")]
    operations = [
        migrations.CreateModel(
            name="Console",
            fields=[("id", models.BigAutoField(primary_key=True, auto_created=True, serialize=False))],
            options={
                "permissions": [(right.value, right.value.replace("_", " ").capitalize()) for right in Right],
                "managed": False,
                "default_permissions": (),
            },
        )
    ]
