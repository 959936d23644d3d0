"""Telling workers to be quiet, to resume and to stop, over HTTP and from the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tasks_app.store.presence import Heartbeat, Presence
from tasks_app.store.wishes import Wishes
from tests.api.client import Api
from tests.api.shell import Ran

if TYPE_CHECKING:
    import redis

    from tasks_app.domain.snapshot import WorkerInfo

WISHES = ("quiet", "resume", "stop")


def beat(presence: Presence, worker_id: str = "w1", state: str = "ready") -> None:
    presence.heartbeat(Heartbeat(worker_id, "host", 7, "1.0", 1.0, state, 5, 0, (), 0, 0))


def test_quiet_stands_until_it_is_resumed(api: Api, presence: Presence) -> None:
    beat(presence)
    assert api.get("workers/w1").body["told"] is None
    answer = api.post("workers/w1/quiet")
    told = answer.body["told"]
    assert (answer.status, answer.body["state"], told["wish"], told["by"]) == (202, "ready", "quiet", "api")
    assert api.post("workers/w1/quiet").body["told"] == told
    beat(presence, state="quiet")
    assert api.get("workers/w1").body["state"] == "quiet"
    assert [worker["told"] for worker in api.get("workers").body["items"]] == [told]
    resumed = api.post("workers/w1/resume")
    assert (resumed.status, resumed.body["told"]) == (202, None)
    assert api.post("workers/w1/resume").status == 202


def test_a_stop_cannot_be_taken_back(api: Api, presence: Presence) -> None:
    beat(presence)
    for _ in range(2):
        answer = api.post("workers/w1/stop", {})
        assert (answer.status, answer.body["told"]["wish"]) == (202, "stop")
    refused = api.post("workers/w1/resume")
    assert (refused.status, refused.code, refused.body["details"]) == (409, "WORKER_LEAVING", {"state": "draining"})


@pytest.mark.parametrize("wish", WISHES)
def test_who_is_not_there(api: Api, presence: Presence, redis_client: redis.Redis, wish: str) -> None:
    beat(presence)
    unknown = api.post(f"workers/nobody/{wish}")
    assert (unknown.status, unknown.code) == (404, "NOT_FOUND")
    redis_client.delete("dtq:worker:w1")
    gone = api.post(f"workers/w1/{wish}")
    assert (gone.status, gone.code, gone.body["details"]) == (409, "WORKER_LEAVING", {"state": "gone"})
    presence.leave("w1")
    left = api.post(f"workers/w1/{wish}")
    assert (left.status, "has left" in left.body["message"]) == (404, True)
    assert api.get("audit").body["items"] == []


def test_one_that_leaves_at_once_was_told(api: Api, presence: Presence, monkeypatch: pytest.MonkeyPatch) -> None:
    tell = Wishes.tell

    def and_it_leaves(wishes: Wishes, *args: Any) -> WorkerInfo:
        told = tell(wishes, *args)
        presence.leave("w1")
        return told

    monkeypatch.setattr(Wishes, "tell", and_it_leaves)
    beat(presence)
    answer = api.post("workers/w1/stop")
    assert (answer.status, answer.body["id"], answer.body["told"]["wish"]) == (202, "w1", "stop")
    assert api.get("workers/w1").status == 404


@pytest.mark.parametrize("wish", WISHES)
def test_each_takes_no_body_and_is_in_the_audit(api: Api, presence: Presence, wish: str) -> None:
    beat(presence)
    assert api.post(f"workers/w1/{wish}", {"why": "x"}).status == 400
    assert api.call("GET", f"workers/w1/{wish}").status == 405
    answer = api.post(f"workers/w1/{wish}")
    (entry,) = api.get("audit").body["items"]
    assert (entry["actor"], entry["action"], entry["target"]) == ("api", wish, "worker:w1")
    assert entry["request_id"] == answer.headers["X-Request-ID"]


def test_the_shell_tells_several(run: type[Ran], api: Api, presence: Presence) -> None:
    for worker_id in ("w1", "w2"):
        beat(presence, worker_id)
    ran = run("workers", "quiet", "w1", "nobody", "w2", "--json")
    assert (ran.code, ran.json) == (1, [{"id": f"w{n}", "outcome": "told: quiet"} for n in (1, 2)])
    assert ran.err.startswith("NOT_FOUND: There is no worker nobody")
    actor = api.get("audit").body["items"][0]["actor"]
    assert actor.startswith("cli:")
    assert f"ready (told: quiet by {actor})" in run("workers").out
    assert run("workers", "resume", "w1", "w2").code == 0
    assert run("workers", "stop", "w1").out == "w1  told: stop\n"
    assert run("workers", "resume", "w1").err.startswith("WORKER_LEAVING")


def test_the_shell_wants_to_know_whom(run: type[Ran]) -> None:
    ran = run("workers", "stop")
    assert (ran.code, ran.err.strip()) == (2, "stop wants the ids of workers")
