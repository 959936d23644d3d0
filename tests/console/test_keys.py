"""The page of API keys: a secret is shown in one answer and stands nowhere afterwards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from django.contrib.messages import get_messages
from django.contrib.sessions.models import Session
from django.test import Client

from tasks_app import runtime
from tasks_app.domain.api_key import Scope
from tasks_app.domain.roles import Role
from tests.console.people import PASSWORD, signed_in

if TYPE_CHECKING:
    from tasks_app.store.queries import Queries
    from tests.console.conftest import Configure

pytestmark = pytest.mark.django_db

FORM = {"name": "ci", "scope": ["submit", "read"], "queues": "mail-*, sms", "rate": "2.5", "lasts": "90d"}
SECRET = re.compile(r"dtq_ci_[A-Za-z0-9]{32}")


@pytest.fixture(autouse=True)
def locked(configure: Configure) -> Configure:
    """With a key set, the console has users."""
    configure(api_key="almighty")
    return configure


def test_an_admin_makes_a_key_and_revokes_it(queries: Queries) -> None:
    browser = signed_in("ada", Role.ADMIN, htmx=True)
    made = browser.post("/keys/make/", FORM)
    assert made.status_code == 201
    assert 'hx-target="#dialog"' in made.text
    assert "no-store" in made["Cache-Control"]
    [secret] = set(SECRET.findall(made.text))
    [key] = runtime.api_keys().all()
    assert key.scopes == {Scope.READ, Scope.SUBMIT}
    assert (key.reach.globs, key.rate, key.created_by) == (("mail-*", "sms"), 2.5, "ada")
    assert runtime.api_keys().admit(secret).name == "ci"

    page = browser.get("/keys/")
    for shown in ("ci", "read, submit", "mail-* sms", "2.5", "by ada"):
        assert shown in page.text
    assert secret.rpartition("_")[2] not in page.text
    assert not any(secret in str(session.get_decoded()) for session in Session.objects.all())
    assert not list(get_messages(page.wsgi_request))

    gone = browser.post("/keys/ci/revoke/")
    assert (gone.status_code, "is revoked" in gone.text) == (200, True)
    assert "No key yet" in browser.get("/keys/").text
    assert [(entry.action, entry.target, entry.actor) for entry in queries.audit().items] == [
        ("revoke", "key:ci", "ada"),
        ("grant", "key:ci", "ada"),
    ]
    assert secret.rpartition("_")[2] not in repr(queries.audit())


def test_without_a_script_the_secret_is_a_page_of_its_own() -> None:
    browser = signed_in("ada", Role.ADMIN)
    made = browser.post("/keys/make/", FORM, headers={"Referer": "http://testserver/keys/"})
    assert made.status_code == 201
    assert len(set(SECRET.findall(made.text))) == 1
    assert 'href="http://testserver/keys/"' in made.text
    again = browser.post("/keys/make/", FORM, headers={"Referer": "http://testserver/keys/"}, follow=True)
    assert "name is taken by another key" in again.text  # what a reload of that page comes to
    assert not SECRET.search(again.text)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"name": "No"}, "name must be"),
        ({"scope": []}, "scopes must be some of"),
        ({"queues": "a b? c"}, "queues must be"),
        ({"rate": "fast"}, "rate must be"),
        ({"lasts": "soon"}, "expires must be"),
    ],
)
def test_what_breaks_a_rule_is_said(wrong: dict[str, object], told: str) -> None:
    answer = signed_in("ada", Role.ADMIN, htmx=True).post("/keys/make/", FORM | wrong)
    assert answer.status_code == 400
    assert told in answer.text
    assert runtime.api_keys().all() == []


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_only_admins_see_and_make_keys(role: Role) -> None:
    browser = signed_in("vera", role)
    assert "/keys/" not in browser.get("/").text
    assert browser.get("/keys/").status_code == 403
    assert browser.post("/keys/make/", FORM).status_code == 403
    assert runtime.api_keys().all() == []


def test_open_mode_makes_no_keys_from_pages(monkeypatch: pytest.MonkeyPatch, locked: Configure) -> None:
    monkeypatch.delenv("DTQ_API_KEY")
    locked()
    assert Client().get("/keys/").status_code == 403
    assert Client().post("/keys/make/", FORM).status_code == 403
    assert runtime.api_keys().all() == []


def test_in_armed_mode_a_key_takes_a_password(locked: Configure) -> None:
    locked(env_name="production")
    browser = signed_in("ada", Role.ADMIN, htmx=True)
    asked = browser.post("/keys/make/", FORM)
    assert (asked.status_code, SECRET.search(asked.text)) == (428, None)
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', asked.text)
    assert ("scope", "submit") in fields
    assert ("scope", "read") in fields
    assert browser.post("/keys/make/", FORM | {"password": "wrong"}).status_code == 428
    assert browser.post("/keys/make/", FORM | {"password": PASSWORD}).status_code == 201


def test_a_key_that_was_tampered_with_is_listed_and_can_be_revoked() -> None:
    client = runtime.client()
    client.sadd("dtq:api-keys", "<b>odd</b>", "a/b", "expired")
    client.hset("dtq:api-key:expired", mapping={"scopes": "read", "queues": "", "expires_at": 1, "rate": 0})
    browser = signed_in("ada", Role.ADMIN)
    page = browser.get("/keys/")
    assert page.status_code == 200
    assert "&lt;b&gt;odd&lt;/b&gt;" in page.text
    assert "expired" in page.text
