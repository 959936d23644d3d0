"""Where the console's users and sessions are kept: ``DATABASE_URL``, or a file in the data directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dj_database_url

SQLITE = "django.db.backends.sqlite3"
KEEP_S = 60
_OPTIONS = {
    # Several web processes write: take the lock when a transaction begins, wait for it, and let readers read.
    "transaction_mode": "IMMEDIATE",
    "timeout": 10,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}


def database(url: str, data_dir: Path) -> tuple[dict[str, Any], list[str]]:
    """Django's settings for ``url`` (empty: SQLite in ``data_dir``), and what is wrong with it, no password in it."""
    kept = {"ENGINE": SQLITE, "NAME": data_dir / "site.sqlite3", "OPTIONS": _OPTIONS}
    if not url:
        return kept, []
    try:
        found = dict(dj_database_url.parse(url, conn_max_age=KEEP_S, conn_health_checks=True))
    except ValueError as error:
        return kept, [f"DATABASE_URL: {error}"]
    if found["ENGINE"] == SQLITE:
        return kept | {"NAME": found["NAME"]}, []
    return found, []
