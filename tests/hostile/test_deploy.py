"""``manage.py check --deploy`` has nothing to say about a site set up as the documents tell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT

SETTINGS = {
    "DTQ_API_KEY": "k3y-of-twenty-letters",
    "DTQ_DJANGO_BEHIND_HTTPS": "true",
    "DTQ_DJANGO_ALLOWED_HOSTS": "dtq.example",
    "DTQ_DJANGO_CSRF_TRUSTED_ORIGINS": "https://dtq.example",
    "DTQ_DJANGO_TRUSTED_PROXIES": "10.0.0.0/8",
}


def check(folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DTQ_")}
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=kept | {"DTQ_DATA_DIR": str(folder)} | settings,
        capture_output=True,
        text=True,
    )


def test_a_site_behind_tls_is_clean(tmp_path: Path) -> None:
    done = check(tmp_path, **SETTINGS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no issues" in done.stdout


def test_a_site_without_tls_is_told_what_it_lacks(tmp_path: Path) -> None:
    done = check(tmp_path, **{**SETTINGS, "DTQ_DJANGO_BEHIND_HTTPS": "false"})
    assert done.returncode == 1
    for missing in ("security.W004", "security.W008", "security.W012", "security.W016"):
        assert missing in done.stderr
