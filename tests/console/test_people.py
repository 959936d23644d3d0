"""Roles hold on the server for every page, fragment, file and action; who may not is told so where they look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from tasks_app.console.people import keep_roles, role_of
from tasks_app.domain.roles import RIGHTS, Right, Role, role_with
from tests.console.people import PASSWORD, make_user, signed_in

if TYPE_CHECKING:
    from tasks_app.store.queries import Queries
    from tests.console.conftest import Configure
    from tests.support.stage import Stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def keyed(configure: Configure) -> None:
    """With a key set, the console has users."""
    configure(api_key="k")


PAGES = ["/", "/tasks/", "/dlq/", "/queues/", "/queues/default/", "/workers/", "/operations/", "/audit/", "/system/"]
ACTIONS = {
    "/tasks/bulk/": {"ids": "x", "action": "cancel"},
    "/dlq/requeue/": {"kind": "x", "count": "1"},
    "/queues/default/pause/": {},
    "/queues/default/resume/": {},
    "/operations/requeue/": {},
    "/operations/none/abort/": {},
}
PURGES = {
    "/queues/default/purge/": {"name": "default"},
    "/dlq/purge/": {"name": "dead letters"},
    "/operations/cancel/": {},
    "/operations/discard/": {},
}


def test_the_groups_have_the_rights_of_the_roles() -> None:
    Group.objects.get(name="viewer").permissions.add(*Group.objects.get(name="admin").permissions.all())
    Group.objects.get(name="admin").delete()
    keep_roles()
    for role in Role:
        held = Group.objects.get(name=role.value).permissions.values_list("codename", flat=True)
        assert set(held) == {right.value for right in RIGHTS[role]}
        assert role_with(RIGHTS[role]) is role
    assert role_with(frozenset()) is None


@pytest.mark.usefixtures("keyed")
def test_whoever_is_not_signed_in_is_led_to_the_login_and_back(stage: Stage) -> None:
    task_id = stage.submit()
    nobody = Client()
    for path in [
        *PAGES,
        "/tasks/?status=queued",
        f"/tasks/{task_id}/",
        f"/tasks/{task_id}.json",
        "/search?q=x",
        "/users/",
    ]:
        answer = nobody.get(path)
        assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/login/"), path
    part = nobody.get(
        "/tasks/",
        {"fragment": "rows"},
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/tasks/?status=queued"},
    )
    assert part.status_code == 401
    assert part["HX-Redirect"] == "/login/?next=%2Ftasks%2F%3Fstatus%3Dqueued"
    sent = nobody.post(f"/tasks/{task_id}/cancel/", headers={"Referer": f"http://testserver/tasks/{task_id}/"})
    assert sent["Location"] == f"/login/?next=%2Ftasks%2F{task_id}%2F", "an action cannot be gone back to, its page can"
    for foreign in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        for headers in ({"Referer": foreign}, {"HX-Request": "true", "HX-Current-URL": foreign}):
            answer = nobody.post(f"/tasks/{task_id}/cancel/", headers=headers)
            assert (answer.headers.get("Location") or answer["HX-Redirect"]) == "/login/?next=%2F"
    assert stage.status(task_id) == "queued"


@pytest.mark.usefixtures("keyed")
def test_each_role_may_what_its_rights_say(stage: Stage) -> None:
    for name, role in (("none", None), *((role.value, role) for role in Role)):
        rights = RIGHTS[role] if role else frozenset()
        browser = signed_in(name, role)
        task_id = stage.submit()
        looks = [
            *PAGES,
            f"/tasks/{task_id}/",
            f"/tasks/{task_id}.json",
            f"/tasks/{task_id}/text/payload",
            "/search?q=type:x",
        ]
        for path in looks:
            for address in (path, f"{path}{'&' if '?' in path else '?'}fragment=rows"):
                assert (browser.get(address).status_code in {200, 302}) is (Right.VIEW in rights), (name, address)
        for path, form in (
            ACTIONS | {f"/tasks/{task_id}/{act}/": {} for act in ("cancel", "requeue", "run-now")}
        ).items():
            refused = browser.post(path, form).status_code == 403
            assert refused is (Right.OPERATE not in rights), (name, path)
        for path, form in PURGES.items():
            assert (browser.post(path, form).status_code == 403) is (Right.PURGE not in rights), (name, path)
        for path in ("/users/", "/users/?fragment=users"):
            assert browser.get(path).status_code == (200 if Right.MANAGE_ACCESS in rights else 403)
        assert stage.status(task_id) == ("cancelled" if Right.OPERATE in rights else "queued")


@pytest.mark.usefixtures("keyed")
def test_a_refusal_is_polite_and_gives_nothing_away(stage: Stage) -> None:
    task_id = stage.submit()
    page = signed_in("vera", Role.VIEWER).post(f"/tasks/{task_id}/cancel/")
    assert page.status_code == 403
    assert 'class="rail"' in page.text
    assert "may look but not act" in page.text
    assert task_id not in page.text
    viewer = Client(headers={"HX-Request": "true"})
    viewer.force_login(User.objects.get(username="vera"), backend="django.contrib.auth.backends.ModelBackend")
    toast = viewer.post(f"/tasks/{task_id}/cancel/")
    assert toast.status_code == 403
    assert 'hx-target="#toasts"' in toast.text
    bare = signed_in("nemo", None).get(f"/tasks/{task_id}/")
    assert bare.status_code == 403
    assert "has no role here" in bare.text
    assert task_id not in bare.text


@pytest.mark.usefixtures("keyed")
def test_nobody_sees_a_button_that_would_be_refused(stage: Stage) -> None:
    task_id = stage.submit()
    paths = ["/tasks/", f"/tasks/{task_id}/", "/queues/", "/queues/default/", "/dlq/"]
    browsers = {role: signed_in(role.value, role) for role in Role}
    seen = {role: "".join(browser.get(path).text for path in paths) for role, browser in browsers.items()}
    assert "data-acts" not in seen[Role.VIEWER]
    assert "data-tick" not in seen[Role.VIEWER]
    assert f"/tasks/{task_id}/cancel/" in seen[Role.OPERATOR]
    assert "/queues/default/pause/" in seen[Role.OPERATOR]
    assert "/purge/" not in seen[Role.OPERATOR]
    assert "/queues/default/purge/" in seen[Role.ADMIN]
    assert 'href="/users/"' in seen[Role.ADMIN]
    assert 'href="/users/"' not in seen[Role.OPERATOR]


@pytest.mark.usefixtures("keyed")
def test_a_role_that_was_taken_away_counts_at_the_next_request(stage: Stage) -> None:
    task_id = stage.submit()
    browser = signed_in("ada", Role.OPERATOR)
    user = User.objects.get(username="ada")
    user.groups.clear()
    assert browser.post(f"/tasks/{task_id}/cancel/").status_code == 403
    user.is_active = False
    user.save()
    assert browser.get("/tasks/").status_code == 302
    assert stage.status(task_id) == "queued"


def test_a_session_opens_no_api_and_a_key_no_console(configure: Configure) -> None:
    configure(api_key="k")
    browser = signed_in("root", Role.ADMIN)
    assert browser.get("/api/v1/tasks").status_code == 401
    assert Client(headers={"X-API-Key": "k"}).get("/tasks/").status_code == 302


def test_in_open_mode_everybody_acts_and_nobody_manages_access(configure: Configure, stage: Stage) -> None:
    configure()
    stage.submit()
    nobody = Client()
    assert nobody.post("/queues/default/purge/", {"name": "default"}).status_code == 302
    assert nobody.get("/users/").status_code == 403
    assert nobody.post("/users/add/", {"name": "eve", "role": "admin", "new_password": PASSWORD}).status_code == 403
    assert not User.objects.exists()
    page = nobody.get("/").text
    assert "Open local mode." in page
    assert 'href="/users/"' not in page


@pytest.mark.usefixtures("keyed")
def test_admins_manage_users_but_not_themselves(stage: Stage, queries: Queries) -> None:
    admin = signed_in("root", Role.ADMIN, htmx=True)
    add = {"name": "otto", "role": "operator", "new_password": PASSWORD}
    assert admin.post("/users/add/", add).status_code == 200
    assert "already exists" in admin.post("/users/add/", add).text
    assert "too short" in admin.post("/users/add/", {**add, "name": "short", "new_password": "a"}).text
    assert admin.post("/users/add/", {**add, "name": "x", "role": "emperor"}).status_code == 400
    assert admin.post("/users/add/", {**add, "name": "<script>"}).status_code == 400
    otto = User.objects.get(username="otto")
    assert role_of(otto) is Role.OPERATOR
    address = reverse("console:user", args=[otto.pk])
    assert admin.post(address, {"to": "viewer"}).status_code == 200
    assert role_of(otto) is Role.VIEWER
    assert admin.post(address, {"to": "disabled"}).status_code == 200
    assert not User.objects.get(username="otto").is_active
    assert admin.post(address, {"to": "nothing"}).status_code == 400
    assert admin.post("/users/9999/", {"to": "viewer"}).status_code == 404
    own = reverse("console:user", args=[User.objects.get(username="root").pk])
    assert admin.post(own, {"to": "viewer"}).status_code == 409
    boss = User.objects.create_superuser("boss", password=PASSWORD)
    assert admin.post(reverse("console:user", args=[boss.pk]), {"to": "disabled"}).status_code == 409
    entries = [(entry.actor, entry.action, entry.target, entry.detail) for entry in queries.audit().items]
    assert entries == [
        ("root", "user-disable", "user:otto", ""),
        ("root", "user-role", "user:otto", "viewer"),
        ("root", "user-add", "user:otto", "operator"),
    ]
    assert "127.0.0.1" in {entry.source for entry in queries.audit().items}


def test_a_change_that_cannot_be_audited_is_not_made(configure: Configure, stage: Stage) -> None:
    configure(api_key="k")
    admin = signed_in("root", Role.ADMIN, htmx=True)
    user = make_user("otto")
    stage.client.set(stage.keys.audit, "no stream")
    admin.raise_request_exception = False
    assert admin.post(reverse("console:user", args=[user.pk]), {"to": "viewer"}).status_code >= 500
    assert role_of(User.objects.get(username="otto")) is Role.OPERATOR
    stage.client.delete(stage.keys.audit)
