"""Bulk actions by filter over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tasks_app import runtime
from tests.api.keyed import ABSENT, Keyed, refused

if TYPE_CHECKING:
    from tests.api.client import Api
    from tests.api.hand import Hand


def asked(**chosen: Any) -> dict[str, Any]:
    return {"action": "requeue", "filter": chosen}


def test_begun_followed_and_finished(api: Api, hand: Hand) -> None:
    for _ in range(3):
        assert api.post("tasks", {"task_type": "echo", "queue": "mail"}).status == 202
        hand.fail()
    answer = api.post("operations", asked(status="dead_lettered", queue="mail"))
    assert answer.status == 202
    body = answer.body
    assert answer.headers["Location"].endswith(f"/api/v1/operations/{body['id']}")
    assert (body["state"], body["total"], body["exact"], body["done"]) == ("running", 3, True, 0)
    assert body["waits_for_scheduler"] is True
    assert body["filter"].keys() == {"status", "queue", "created_before"}
    assert api.post("operations", asked(status="dead_lettered", queue="mail")).code == "OPERATION_RUNNING"
    assert runtime.operations().run_for(10) is False
    ended = api.get(f"operations/{body['id']}").body
    assert (ended["state"], ended["done"], ended["looked"], ended["skipped"]) == ("finished", 3, 3, {})
    assert api.get("operations").body == {"items": [ended], "next": None}
    assert api.post(f"operations/{body['id']}/abort").code == "OPERATION_ENDED"


def test_a_careful_one_tries_first_and_stops_itself(api: Api, hand: Hand) -> None:
    for _ in range(3):
        api.post("tasks", {"task_type": "echo"})
        hand.fail()
    body = api.post("operations", asked() | {"careful": True}).body
    assert (body["careful"], body["trying"], body["failed"]) == (True, 0, 0)
    runtime.operations().run_for(10)
    tried = api.get(f"operations/{body['id']}").body
    assert (tried["state"], tried["done"], tried["trying"]) == ("running", 1, 1)
    hand.fail()
    runtime.operations().run_for(10)
    ended = api.get(f"operations/{body['id']}").body
    assert (ended["state"], ended["done"], ended["trying"], ended["failed"]) == ("stopped", 1, 1, 1)


def test_aborted(api: Api) -> None:
    body = api.post("operations", {"action": "cancel", "filter": {}}).body
    ended = api.post(f"operations/{body['id']}/abort").body
    assert (ended["state"], ended["ended_by"]) == ("aborted", "api")
    assert api.get(f"operations/{ABSENT}").status == 404
    assert api.post("operations/x/abort").status == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "action"),
        ({"action": "run-now", "filter": {}}, "action"),
        ({"action": "requeue"}, "filter"),
        ({"action": ["requeue"], "filter": {}}, "action"),
        ({"action": "requeue", "filter": {}, "force": True}, "force"),
        (asked() | {"careful": "yes"}, "careful"),
        ({"action": "discard", "filter": {}, "careful": True}, "careful"),
        (asked(status="dead"), "filter.status"),
        (asked(status=["failed"]), "filter.status"),
        (asked(status="queued"), "status"),
        (asked(queue="No Queue"), "filter.queue"),
        (asked(q="x"), "filter.q"),
        (asked(created_before="yesterday"), "filter.created_before"),
        (asked(fingerprint="f", status="failed"), "fingerprint"),
    ],
)
def test_mistakes_are_named_and_never_mean_all(api: Api, body: dict[str, Any], field: str) -> None:
    answer = api.post("operations", body)
    assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")
    assert field in answer.body["details"]["fields"]
    assert api.get("operations").body["items"] == []


def test_a_key_for_some_queues_names_one_of_them(almighty: Keyed, grant: Callable[..., Keyed]) -> None:
    mail = grant("operate", queues=["mail-*"])
    reader = grant("read", name="reader")
    assert refused(mail.post("operations", asked()))
    assert refused(mail.post("operations", asked(queue="secret")))
    own = mail.post("operations", asked(queue="mail-eu")).body
    foreign = almighty.post("operations", asked(queue="secret")).body["id"]
    wide = almighty.post("operations", asked()).body["id"]
    assert [item["id"] for item in mail.get("operations").body["items"]] == [own["id"]]
    for hidden in (foreign, wide):
        assert refused(mail.get(f"operations/{hidden}"), 404)
        assert refused(mail.post(f"operations/{hidden}/abort"), 404)
    assert own["actor"].startswith("key:")
    assert refused(reader.post("operations", asked()))
    assert len(reader.get("operations").body["items"]) == 3
    assert mail.post(f"operations/{own['id']}/abort").body["state"] == "aborted"
