"""The list of workers, and telling one of them something."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tasks_app.console.presenters.workers import awaited, telling
from tasks_app.domain.roles import OPEN_MODE_RIGHTS, Right, Role
from tasks_app.domain.snapshot import WorkerInfo
from tasks_app.domain.wish import Told, Wish
from tasks_app.store.presence import Heartbeat
from tests.console.people import signed_in
from tests.support.stage import LEADER

if TYPE_CHECKING:
    import redis
    from django.test import Client

    from tasks_app.store.presence import Presence
    from tasks_app.store.queries import Queries
    from tests.console.conftest import Configure
    from tests.support.stage import Stage

BEAT = Heartbeat("host-1-0badcafe", "host", 1, "1.0", 1.0, "ready", 5, 2, (), 0, 0)
PATH = "/workers/host-1-0badcafe"
INFO = WorkerInfo("w", "ready", "host", 1, "1.0", 1, 1, 5, 0, (), 0, 0)
QUIET, STOP = Told(Wish.QUIET, "ada", 1), Told(Wish.STOP, "ada", 1)


@pytest.mark.parametrize(
    ("state", "told", "buttons", "waits_for"),
    [
        ("ready", None, ["Quiet", "Stop…"], ""),
        ("late", None, ["Quiet", "Stop…"], ""),
        ("busy", QUIET, ["Resume", "Stop…"], "told to be quiet"),
        ("quiet", QUIET, ["Resume", "Stop…"], ""),
        ("quiet", None, ["Quiet", "Stop…"], ""),
        ("quiet", STOP, [], "told to stop"),
        ("late", STOP, [], "told to stop"),
        ("draining", STOP, [], ""),
        ("draining", QUIET, [], "told to be quiet"),
        ("gone", QUIET, [], "told to be quiet"),
    ],
)
def test_the_buttons_that_apply(state: str, told: Told | None, buttons: list[str], waits_for: str) -> None:
    info = replace(INFO, state=state, told=told)
    assert [button.word for button in telling(info, OPEN_MODE_RIGHTS)] == buttons
    assert awaited(info) == waits_for
    assert telling(info, frozenset({Right.VIEW})) == []


@pytest.mark.parametrize("odd", ["", "a/b", "\n", "%2F", "<b>"])
def test_a_planted_name_breaks_no_page(htmx: Client, presence: Presence, odd: str) -> None:
    presence.heartbeat(replace(BEAT, worker_id=odd))
    assert htmx.get("/workers/").status_code == 200


@pytest.mark.parametrize(("worker_id", "named"), [("host-1-0badcafe", False), ("hostess-1-0badcafe", True)])
def test_a_host_is_named_beside_an_id_that_does_not_tell_it(
    htmx: Client, presence: Presence, worker_id: str, named: bool
) -> None:
    presence.heartbeat(replace(BEAT, worker_id=worker_id))
    page = htmx.get("/workers/").text
    assert ('<span class="sub">host · pid 1 ' in page) is named
    assert ('<span class="sub">pid 1 ' in page) is not named


def test_quiet_and_resume_are_202_and_shown(htmx: Client, presence: Presence, queries: Queries) -> None:
    presence.heartbeat(BEAT)
    answer = htmx.post(f"{PATH}/quiet/")
    assert answer.status_code == 202
    assert 'hx-target="#toasts"' in answer.text
    page = htmx.get("/workers/").text
    assert "told to be quiet by open mode" in page
    assert f'action="{PATH}/resume/"' in page
    assert f'action="{PATH}/quiet/"' not in page
    presence.heartbeat(replace(BEAT, state="quiet"))
    page = htmx.get("/workers/").text
    assert "told to be quiet by" not in page
    assert "by open mode" in page
    assert htmx.post(f"{PATH}/resume/").status_code == 202
    assert "by open mode" not in htmx.get("/workers/").text
    assert [(entry.action, entry.actor) for entry in queries.audit().items] == [
        ("resume", "open mode"),
        ("quiet", "open mode"),
    ]


def test_a_stop_is_asked_about_first(htmx: Client, browser: Client, presence: Presence, queries: Queries) -> None:
    presence.heartbeat(BEAT)
    question = htmx.post(f"{PATH}/stop/", {"ask": "1"})
    assert question.status_code == 428
    assert "lets the 2 tasks that run finish for as long as it drains, gives the rest" in question.text
    presence.heartbeat(replace(BEAT, drain_timeout_s=90))
    question = htmx.post(f"{PATH}/stop/", {"ask": "1"})
    assert "lets the 2 tasks that run finish for 1m 30s at most, gives the rest" in question.text
    page = browser.post(f"{PATH}/stop/", {"ask": "1"}, headers={"referer": "http://testserver/workers/"})
    assert 'name="back" value="http://testserver/workers/"' in page.text
    assert queries.workers()[0].told is None
    assert htmx.post(f"{PATH}/stop/").status_code == 202
    assert "told to stop by open mode" in htmx.get("/workers/").text
    refused = htmx.post(f"{PATH}/resume/")
    assert refused.status_code == 409
    assert "cannot be taken back" in refused.text


@pytest.mark.parametrize("wish", Wish)
def test_who_is_not_there(htmx: Client, presence: Presence, redis_client: redis.Redis, wish: Wish) -> None:
    presence.heartbeat(BEAT)
    redis_client.delete("dtq:worker:host-1-0badcafe")
    gone = htmx.post(f"{PATH}/{wish}/")
    assert gone.status_code == 409
    assert "heartbeats have stopped" in gone.text
    assert htmx.post(f"/workers/nobody/{wish}/").status_code == 404
    assert htmx.post("/workers/nobody/stop/", {"ask": "1"}).status_code == 404


@pytest.mark.django_db
def test_viewers_see_who_told_it_and_no_button(configure: Configure, presence: Presence) -> None:
    configure(api_key="secret")
    presence.heartbeat(BEAT)
    otto = signed_in("otto")
    assert otto.post(f"{PATH}/quiet/").status_code == 302
    page = signed_in("vera", Role.VIEWER).get("/workers/").text
    assert "told to be quiet by otto" in page
    assert "/resume/" not in page


def test_a_fleet_that_is_quiet_as_a_whole_says_so(htmx: Client, presence: Presence, stage: Stage) -> None:
    task_id = stage.submit(queue="mail")
    presence.heartbeat(replace(BEAT, state="quiet"))
    assert "Every worker is quiet" in htmx.get("/").text
    assert "Every worker that serves queue mail is quiet" in htmx.get(f"/tasks/{task_id}/").text
    presence.heartbeat(replace(BEAT, worker_id="host-2-0badcafe", queues=("other",)))
    assert "Every worker is quiet" not in htmx.get("/").text
    assert "Every worker that serves queue mail is quiet" in htmx.get(f"/tasks/{task_id}/").text


@pytest.mark.parametrize(
    ("states", "cell", "words"),
    [
        ([], "none", "no worker"),
        (["draining"], "none", "no worker"),
        (["quiet"], "1 quiet", "1 worker, quiet"),
        (["quiet", "quiet", "draining"], "2 quiet", "2 workers, all quiet"),
        (["ready"], "1", "1 worker"),
        (["ready", "busy", "quiet"], "2", "3 workers, 1 quiet"),
    ],
)
def test_a_queue_tells_who_serves_it(
    htmx: Client, presence: Presence, stage: Stage, states: list[str], cell: str, words: str
) -> None:
    stage.submit(queue="mail")
    presence.heartbeat(replace(BEAT, worker_id="elsewhere", queues=("other",)))
    for number, state in enumerate(states):
        presence.heartbeat(replace(BEAT, worker_id=f"w{number}", state=state))
    mark = "" if cell.isdecimal() else ' class="error-line"'
    assert f'<span title="{words}"{mark}>{cell}</span>' in htmx.get("/queues/").text
    assert f">{words}</span>" in htmx.get("/queues/mail/").text


async def test_the_overview_names_the_leader_or_says_that_none_leads(
    browser: Client, stage: Stage, presence: Presence
) -> None:
    assert "No worker is alive, and no scheduler leads." in browser.get("/").text
    await stage.lead()  # one that is no worker
    page = browser.get("/").text
    assert "<strong>No worker is alive.</strong>" in page
    assert f'leader <span class="mono">{LEADER}</span>' in page
    stage.client.delete(stage.keys.lock)
    presence.heartbeat(BEAT)
    assert "<strong>No scheduler leads.</strong>" in browser.get("/").text
