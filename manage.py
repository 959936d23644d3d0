#!/usr/bin/env python
"""Django's command line for this project; ``manage.py up`` starts everything."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command named in ``sys.argv``."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dtq_site.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit(
            "Django is not installed in this Python. Use `make run`, or .venv/bin/python manage.py after `make setup`."
        )
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
