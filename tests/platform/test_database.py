"""Where users and sessions are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtq_site.database import SQLITE, database
from dtq_site.site import site_from_env

FOLDER = Path("/data")


def test_without_a_url_it_is_a_file_in_the_data_directory() -> None:
    found, problems = database("", FOLDER)
    assert (found["ENGINE"], found["NAME"], problems) == (SQLITE, FOLDER / "site.sqlite3", [])
    assert found["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_a_url_names_another_one() -> None:
    found, problems = database("postgres://dtq:p%40ss@db.example:5433/console?sslmode=require", FOLDER)
    assert problems == []
    assert found["ENGINE"] == "django.db.backends.postgresql"
    assert (found["HOST"], found["PORT"], found["NAME"]) == ("db.example", 5433, "console")
    assert (found["USER"], found["PASSWORD"]) == ("dtq", "p@ss")
    assert found["OPTIONS"] == {"sslmode": "require"}
    assert found["CONN_HEALTH_CHECKS"]
    other, _ = database("sqlite:////srv/console.sqlite3", FOLDER)
    assert other["NAME"] == "/srv/console.sqlite3"
    assert other["OPTIONS"]["transaction_mode"] == "IMMEDIATE", "several processes write to this one, too"


@pytest.mark.parametrize("url", ["nonsense", "ftp://dtq:s3cret@db/x", "postgres://dtq:s3cret@db:port/x"])
def test_a_url_that_cannot_work_is_named_without_its_password(url: str) -> None:
    found, (problem,) = database(url, FOLDER)
    assert problem.startswith("DATABASE_URL: ")
    assert "s3cret" not in problem
    assert found["ENGINE"] == SQLITE


def test_a_session_lasts_a_minute_at_least() -> None:
    assert site_from_env({"DTQ_DJANGO_SESSION_AGE_S": "3600"})[0].session_age_s == 3600
    for text in ("59", "-1", "forever"):
        _, (problem,) = site_from_env({"DTQ_DJANGO_SESSION_AGE_S": text})
        assert problem.startswith("DTQ_DJANGO_SESSION_AGE_S ")
