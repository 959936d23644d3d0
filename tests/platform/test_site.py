"""What the site keeps in the data directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.contrib.staticfiles.finders import get_finder
from django.http import HttpRequest, HttpResponse
from django.test import override_settings

from dtq_site.content_security import PageLimitsMiddleware
from dtq_site.secret_key import secret_key
from dtq_site.site import Site, site_from_env
from dtq_site.static_storage import HashedStaticFiles
from workers import static_files


def test_the_secret_key_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    key = secret_key(folder)
    assert len(key) >= 50
    assert secret_key(folder) == key
    assert [path.name for path in folder.iterdir()] == ["django-secret-key"]
    assert (folder / "django-secret-key").stat().st_mode & 0o777 == 0o600


def test_of_two_that_make_it_at_once_one_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other_was_faster(source: Path, target: Path) -> None:
        target.write_text("the other's")
        raise FileExistsError

    monkeypatch.setattr(os, "link", other_was_faster)
    assert secret_key(tmp_path) == "the other's"
    assert [path.name for path in tmp_path.iterdir()] == ["django-secret-key"]


def test_the_sites_variables() -> None:
    assert site_from_env({"PATH": "/bin", "DTQ_DJANGO_DEBUG": " "}) == (Site(), [])
    site, problems = site_from_env(
        {
            "DTQ_DJANGO_ALLOWED_HOSTS": "dtq.example, .example.org",
            "DTQ_DJANGO_SCRIPT_NAME": "/q",
            "DTQ_DJANGO_BEHIND_HTTPS": "yes",
            "DTQ_DJANGO_THREADS": "4",
        }
    )
    assert problems == []
    assert site == Site(allowed_hosts=("dtq.example", ".example.org"), script_name="/q", behind_https=True, threads=4)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("THREADS", "0"),
        ("THREADS", "many"),
        ("THREAD", "1"),
        ("DEBUG", "perhaps"),
        ("SCRIPT_NAME", "q"),
        ("TRUSTED_PROXIES", "10.0.0.1,proxy.example"),
        ("HSTS_SECONDS", "-1"),
        ("CSRF_TRUSTED_ORIGINS", "dtq.example"),
        ("ALLOWED_HOSTS", "a.example,https://dtq.example"),
    ],
)
def test_a_variable_of_the_site_that_cannot_work_is_named(name: str, value: str) -> None:
    site, (problem,) = site_from_env({f"DTQ_DJANGO_{name}": value})
    assert problem.startswith(f"DTQ_DJANGO_{name} ")
    assert site == Site()


def test_every_answer_says_what_a_page_may_load() -> None:
    answer = PageLimitsMiddleware(lambda request: HttpResponse())(HttpRequest())
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    own = HttpResponse(headers={"Content-Security-Policy": "sandbox"})
    answer = PageLimitsMiddleware(lambda request: own)(HttpRequest())
    assert answer.headers["Content-Security-Policy"] == "sandbox"


def test_files_have_their_own_names_until_they_are_collected(tmp_path: Path) -> None:
    name = "css/api-docs.css"
    with override_settings(STATIC_ROOT=tmp_path):
        assert HashedStaticFiles().stored_name(name) == name
        static_files.collect_if_changed()
        stored = HashedStaticFiles().stored_name(name)
        assert stored != name
        assert (tmp_path / stored).exists()
        with pytest.raises(ValueError, match="nowhere"):
            HashedStaticFiles().stored_name("nowhere.css")


def test_they_are_collected_again_only_when_one_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def collect(command: str, **_: object) -> None:
        calls.append(command)
        tmp_path.mkdir(exist_ok=True)

    source = tmp_path / "source"
    source.mkdir()
    (source / "a.css").write_text("a {}")
    monkeypatch.setattr(static_files, "call_command", collect)
    with override_settings(STATIC_ROOT=tmp_path, STATICFILES_DIRS=[source]):
        get_finder.cache_clear()  # type: ignore[attr-defined]
        static_files.collect_if_changed()
        static_files.collect_if_changed()
        assert calls == ["collectstatic"]
        (source / "a.css").write_text("a { color: red }")
        static_files.collect_if_changed()
        assert calls == ["collectstatic"] * 2
    get_finder.cache_clear()  # type: ignore[attr-defined]
