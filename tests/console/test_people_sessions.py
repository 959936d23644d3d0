"""Signing in, staying signed in, guessing, armed mode, and streams that end with their session."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils.timezone import now

from tasks_app.console import armed
from tasks_app.domain.roles import Role
from tests.console.people import PASSWORD, make_user, signed_in

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

    from tests.console.conftest import Configure
    from tests.support.stage import Stage

pytestmark = pytest.mark.django_db

TOO_MANY = "Too many wrong passwords"


@pytest.fixture(autouse=True)
def keyed(configure: Configure) -> None:
    """With a key set, the console has users."""
    configure(api_key="k")


def _sign_in(client: Client, name: str, password: str = PASSWORD, **form: str) -> Any:
    return client.post("/login/", {"username": name, "password": password, **form})


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ("/tasks/?status=queued", "/tasks/?status=queued"),
        ("", "/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_the_login_leads_back_and_nowhere_else(wanted: str, got: str) -> None:
    make_user("ada")
    answer = _sign_in(Client(), "ada", next=wanted)
    assert (answer.status_code, answer["Location"]) == (302, got)


def test_a_session_ends_so_long_after_its_beginning_whatever_was_done_in_it(settings: Settings) -> None:
    make_user("ada")
    browser = Client()
    Session.objects.create(session_key="old", session_data="x", expire_date=now() - timedelta(days=1))
    answer = _sign_in(browser, "ada")
    ends = browser.session.get_expiry_date()
    assert ends - now() == pytest.approx(timedelta(seconds=settings.SESSION_COOKIE_AGE), abs=timedelta(seconds=30))
    assert answer.cookies["dtq_session"]["httponly"]
    assert answer.cookies["dtq_session"]["samesite"] == "Lax"
    assert not Session.objects.filter(session_key="old").exists(), "expired ones are swept"
    session = browser.session
    session["touched"] = 1
    session.save()
    assert browser.session.get_expiry_date() == ends
    Session.objects.update(expire_date=now() - timedelta(seconds=1))
    assert browser.get("/tasks/").status_code == 302


def test_signing_out_is_a_post_and_ends_the_session() -> None:
    browser = signed_in("ada")
    assert browser.get("/logout/").status_code == 405
    assert browser.post("/logout/")["Location"] == "/login/"
    assert browser.get("/").status_code == 302
    assert not Session.objects.exists()


def test_a_new_password_ends_the_other_sessions() -> None:
    here, there = signed_in("ada"), Client()
    there.force_login(User.objects.get(username="ada"), backend="django.contrib.auth.backends.ModelBackend")
    form = {"old_password": PASSWORD, "new_password1": "a longer horse", "new_password2": "a longer horse"}
    weak = here.post("/password/", {**form, "new_password1": "1234567890", "new_password2": "1234567890"})
    assert "too common" in weak.text
    wrong = here.post("/password/", {**form, "old_password": "no"})
    assert "That is not your password." in wrong.text
    assert here.post("/password/", form)["Location"] == "/"
    assert here.get("/").status_code == 200
    assert there.get("/").status_code == 302
    assert _sign_in(Client(), "ada", "a longer horse").status_code == 302
    assert Client().get("/password/")["Location"] == "/login/?next=%2Fpassword%2F"


def _masked(text: str) -> str:
    return "".join(line for line in text.splitlines() if "csrfmiddlewaretoken" not in line)


def test_a_guesser_is_locked_out_and_learns_of_no_name(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    make_user("ada")
    said = []
    with caplog.at_level(logging.DEBUG):
        for name in ("ada", "nobody"):
            answers = [_sign_in(Client(), name, "wr0ng-guess") for _ in range(settings.AXES_FAILURE_LIMIT)]
            assert [answer.status_code for answer in answers] == [200] * (settings.AXES_FAILURE_LIMIT - 1) + [429]
            said.append([_masked(answer.text).replace(name, "") for answer in answers])
            assert TOO_MANY in answers[-1].text
            assert answers[-1]["Retry-After"] == "900"
    assert said[0] == said[1]
    assert _sign_in(Client(), "ada").status_code == 429, "the right password does not help now"
    assert _sign_in(Client(REMOTE_ADDR="192.0.2.9"), "ada").status_code == 302, "the user's own address is not locked"
    stored = "".join(str(vars(attempt)) for attempt in AccessAttempt.objects.all())
    assert "wr0ng-guess" not in stored + caplog.text
    AccessAttempt.objects.update(attempt_time=now() - timedelta(minutes=16))
    assert _sign_in(Client(), "ada").status_code == 302
    assert not AccessAttempt.objects.exists(), "attempts are kept no longer than they count"


def test_another_spelling_of_a_name_is_no_fresh_start(settings: Settings) -> None:
    make_user("ada")
    spellings = ["ada", "ADA", " Ada", "\uff41da", "adA "][: settings.AXES_FAILURE_LIMIT]
    answers = [_sign_in(Client(), name, "wr0ng-guess").status_code for name in spellings]
    assert answers == [200] * (settings.AXES_FAILURE_LIMIT - 1) + [429]
    assert _sign_in(Client(), "ada").status_code == 429
    AccessAttempt.objects.all().delete()
    _sign_in(Client(), "ADA", "wr0ng-guess")
    assert _sign_in(Client(), "ada").status_code == 302
    assert not AccessAttempt.objects.exists(), "signing in forgives what was counted under other spellings"


@pytest.mark.parametrize("name", ["\u0390" * 150, "\0ada", ""])
def test_odd_names_are_refused_like_any_other(name: str) -> None:
    assert _sign_in(Client(), name, "wr0ng-guess").status_code == 200


@pytest.fixture
def production(configure: Configure) -> None:
    """An environment with a name, which arms it."""
    configure(api_key="k", env_name="production")


@pytest.mark.usefixtures("production")
def test_what_cannot_be_undone_wants_the_password_and_then_goes_on(stage: Stage) -> None:
    otto = signed_in("otto", htmx=True)
    ids = [stage.submit() for _ in range(12)]
    form = {"action": "cancel", "ids": ",".join(ids)}
    question = otto.post("/tasks/bulk/", form)
    assert question.status_code == 428
    assert 'type="password"' in question.text
    assert f'name="ids" value="{form["ids"]}"' in question.text
    assert "This is production" in question.text
    again = otto.post("/tasks/bulk/", {**form, "password": "no"})
    assert again.status_code == 428
    assert "That is not your password." in again.text
    assert {stage.status(i) for i in ids} == {"queued"}
    count = otto.post("/tasks/bulk/", {**form, "password": PASSWORD})
    assert count.status_code == 428
    assert "it applies to <strong>12</strong>" in count.text
    assert "is-armed" in count.text
    assert PASSWORD not in count.text
    assert "12 cancelled." in otto.post("/tasks/bulk/", {**form, "confirmed": "1"}).text
    assert otto.post(f"/tasks/{stage.submit()}/cancel/").status_code == 202, "not asked again within ten minutes"
    assert otto.post("/disarm/").status_code == 200
    assert otto.post(f"/tasks/{stage.submit()}/cancel/").status_code == 428


@pytest.mark.usefixtures("production")
def test_being_armed_ends_after_ten_minutes_and_with_the_session(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    make_user("otto")
    otto, other = Client(), Client()
    for browser in (otto, other):
        _sign_in(browser, "otto")
    assert otto.post(f"/tasks/{stage.submit()}/cancel/", {"password": PASSWORD}).status_code == 302
    assert other.post(f"/tasks/{stage.submit()}/cancel/").status_code == 428, "another session of the same user"
    assert "is-armed" in otto.get("/").text
    later = armed._now() + armed.ARMED_S * 1000
    monkeypatch.setattr(armed, "_now", lambda: later)
    assert "is-armed" not in otto.get("/").text
    assert otto.post(f"/tasks/{stage.submit()}/cancel/").status_code == 428
    monkeypatch.undo()


@pytest.mark.usefixtures("production")
def test_which_actions_are_armed(stage: Stage) -> None:
    root = signed_in("root", Role.ADMIN)
    task_id = stage.submit()
    user = make_user("otto")
    asked = {
        f"/tasks/{task_id}/cancel/": True,
        f"/tasks/{task_id}/discard/": True,
        f"/tasks/{task_id}/requeue/": False,
        f"/tasks/{task_id}/run-now/": False,
        "/queues/default/pause/": False,
        "/queues/default/resume/": False,
        "/queues/default/purge/": True,
        "/workers/w/quiet/": False,
        "/workers/w/resume/": False,
        "/workers/w/stop/": True,
        "/dlq/purge/": True,
        "/dlq/requeue/": False,
        "/users/add/": True,
        f"/users/{user.pk}/": True,
    }
    found = {path: "data-arm" in root.post(path).text for path in asked}
    assert found == asked
    bulk = {
        act: "data-arm" in root.post("/tasks/bulk/", {"ids": "x", "action": act}).text
        for act in ("cancel", "discard", "requeue", "run-now")
    }
    assert bulk == {"cancel": True, "discard": True, "requeue": False, "run-now": False}


@pytest.mark.usefixtures("production")
def test_guessing_the_password_of_a_session_locks_out_too(settings: Settings, stage: Stage) -> None:
    otto = signed_in("otto", htmx=True)
    address = f"/tasks/{stage.submit()}/cancel/"
    for _ in range(settings.AXES_FAILURE_LIMIT - 2):
        otto.post(address, {"password": "no"})
    assert otto.post(address, {"password": PASSWORD}).status_code == 202, "a right one forgives the wrong ones"
    otto.post("/disarm/")
    answers = [otto.post(address, {"password": "no"}) for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert answers[-1].status_code == 429
    assert 'hx-target="#toasts"' in answers[-1].text
    assert TOO_MANY in answers[-1].text
    assert otto.post(address, {"password": PASSWORD}).status_code == 429
    assert TOO_MANY in otto.post("/password/", {"old_password": PASSWORD}, headers={"HX-Request": "true"}).text


@pytest.mark.usefixtures("production")
def test_a_new_users_password_is_asked_for_once_the_session_is_armed() -> None:
    root = signed_in("root", Role.ADMIN, htmx=True)
    form = {"name": "ada", "role": "viewer", "new_password": "a longer horse"}
    assert "new_password" not in root.get("/users/").text
    question = root.post("/users/add/", form)
    assert question.status_code == 428
    assert "a longer horse" not in question.text
    assert root.post("/users/add/", {"password": PASSWORD})["HX-Redirect"] == "/users/"
    assert "new_password" in root.get("/users/").text
    assert root.post("/users/add/", form).status_code == 200
    assert _sign_in(Client(), "ada", "a longer horse").status_code == 302


def test_without_a_name_nothing_is_armed(stage: Stage, configure: Configure) -> None:
    assert signed_in("otto").post(f"/tasks/{stage.submit()}/cancel/").status_code == 302
    configure(api_key="", env_name="laptop")
    assert Client().post(f"/tasks/{stage.submit()}/cancel/").status_code == 302, "open mode has no passwords"


def _scope(client: Client) -> dict[str, Any]:
    cookie = f"dtq_session={client.cookies['dtq_session'].value}" if "dtq_session" in client.cookies else ""
    return {"type": "http", "method": "GET", "path": "/events", "headers": [(b"cookie", cookie.encode())]}


def _may_listen(client: Client) -> int:
    from tasks_app.console.listening import may_listen

    return asyncio.run(may_listen(_scope(client), again=False)).status


@pytest.mark.django_db(transaction=True)
def test_listening_takes_a_session_whose_user_may_look() -> None:
    assert _may_listen(Client()) == 401
    assert _may_listen(signed_in("nemo", None)) == 401
    browser = signed_in("vera", Role.VIEWER)
    assert _may_listen(browser) == 200
    User.objects.get(username="vera").groups.clear()
    assert _may_listen(browser) == 401
    other = signed_in("otto")
    assert _may_listen(other) == 200
    User.objects.filter(username="otto").update(is_active=False)
    assert _may_listen(other) == 401
    third = signed_in("olga")
    assert _may_listen(third) == 200
    Session.objects.all().delete()
    assert _may_listen(third) == 401
