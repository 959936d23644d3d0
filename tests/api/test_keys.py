"""Named keys at the API: scopes, patterns of queues, limits; and who the audit names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from tasks_app import runtime
from tasks_app.domain.api_key import parse_grant
from tests.api.client import Answer, Api
from tests.api.conftest import Configure
from tests.support.builders import ACTOR

if TYPE_CHECKING:
    import redis

    from tests.api.hand import Hand

MASTER = "the-key-that-may-everything"
ABSENT = "0" * 32


class Keyed:
    """The API by one key."""

    def __init__(self, secret: str) -> None:
        self.api = Api()
        self.secret = secret

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Answer:
        return self.api.get(path, query, x_api_key=self.secret, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.api.post(path, body, x_api_key=self.secret, **headers)

    def submit(self, queue: str, **fields: Any) -> str:
        answer = self.post("tasks", {"task_type": "echo", "queue": queue, **fields})
        assert answer.status == 202, answer
        task_id: str = answer.body["id"]
        return task_id


@pytest.fixture
def master(wired: Configure) -> Keyed:
    """A server with ``DTQ_API_KEY``, and who has it."""
    wired(api_key=MASTER)
    return Keyed(MASTER)


@pytest.fixture
def grant(master: Keyed) -> Callable[..., Keyed]:
    """Makes a key: ``grant("read", queues=["mail-*"])``."""

    def make(*scopes: str, name: str = "ci", **rules: Any) -> Keyed:
        return Keyed(runtime.api_keys().grant(parse_grant(name, scopes, **rules), ACTOR))

    return make


def refused(answer: Answer, status: int = 403) -> bool:
    """True for a refusal with that status that says nothing of what is there."""
    return answer.status == status and answer.code in {"FORBIDDEN", "NOT_FOUND"} and "secret" not in answer.text


class TestScopes:
    def test_a_reader_only_reads(self, master: Keyed, grant: Callable[..., Keyed]) -> None:
        task_id, reader = master.submit("mail"), grant("read")
        assert reader.get(f"tasks/{task_id}").status == 200
        assert [queue["name"] for queue in reader.get("queues").body["items"]] == ["mail"]
        for path in ("workers", "audit", "dlq", "dlq/groups"):
            assert reader.get(path).status == 200
        assert refused(reader.post("tasks", {"task_type": "echo"}))
        assert refused(reader.post(f"tasks/{task_id}/cancel"))
        assert refused(reader.post("queues/mail/purge"))

    def test_a_producer_only_submits(self, master: Keyed, grant: Callable[..., Keyed]) -> None:
        task_id, producer = master.submit("mail"), grant("submit")
        assert producer.submit("mail") != task_id
        assert producer.post("tasks/bulk", {"tasks": [{"task_type": "echo"}]}).body["accepted"] == 1
        assert refused(producer.get(f"tasks/{task_id}"))
        assert refused(producer.get("tasks"))
        assert refused(producer.post(f"tasks/{task_id}/cancel"))

    def test_an_operator_acts_and_reads(self, master: Keyed, grant: Callable[..., Keyed]) -> None:
        task_id, operator = master.submit("mail"), grant("operate")
        assert operator.get(f"tasks/{task_id}").status == 200
        assert operator.post(f"tasks/{task_id}/cancel").status == 202
        assert refused(operator.post("tasks", {"task_type": "echo"}))

    def test_what_does_not_exist_is_no_question_of_rights(self, grant: Callable[..., Keyed]) -> None:
        producer = grant("submit")
        assert producer.get("nothing").status == 404
        assert producer.api.call("PUT", "tasks", x_api_key=producer.secret).status == 405
        assert producer.post("workers").status == 405

    def test_rights_come_before_the_body(self, grant: Callable[..., Keyed]) -> None:
        answer = Api().send("tasks", b"{", x_api_key=grant("read").secret)
        assert answer.status == 403


class TestQueues:
    @pytest.fixture
    def mail(self, grant: Callable[..., Keyed]) -> Keyed:
        """A key for everything in queues of mail."""
        return grant("submit", "operate", queues=["mail-*"])

    def test_submitting(self, master: Keyed, mail: Keyed) -> None:
        assert mail.submit("mail-eu")
        assert refused(mail.post("tasks", {"task_type": "echo", "queue": "secret"}))
        assert refused(mail.post("tasks", {"task_type": "echo"}))  # its queue would be `default`
        items = mail.post(
            "tasks/bulk",
            {"tasks": [{"task_type": "echo", "queue": name} for name in ("mail-eu", "secret", "mail-us")]},
        ).body["items"]
        assert [item["status"] for item in items] == [202, 403, 202]
        assert items[1]["error"]["code"] == "FORBIDDEN"
        assert [queue["name"] for queue in master.get("queues").body["items"]] == ["mail-eu", "mail-us"]

    def test_a_handlers_own_queue_counts(self, grant: Callable[..., Keyed], monkeypatch: pytest.MonkeyPatch) -> None:
        from tasks_app.domain.submission import Defaults

        monkeypatch.setattr(runtime.registry(), "defaults", lambda name: Defaults(queue="mail-eu"))
        assert grant("submit", queues=["mail-*"]).post("tasks", {"task_type": "echo"}).status == 202
        assert refused(grant("submit", name="b", queues=["sms"]).post("tasks", {"task_type": "echo"}))

    def test_single_tasks(self, master: Keyed, mail: Keyed, hand: Hand) -> None:
        own, foreign = master.submit("mail-eu"), master.submit("secret")
        assert mail.get(f"tasks/{own}").status == 200
        assert mail.get(f"tasks/{own}/result").status == 202
        unknown = mail.get(f"tasks/{ABSENT}")
        for method, path in (
            ("GET", ""),
            ("GET", "/result"),
            ("POST", "/cancel"),
            ("POST", "/requeue"),
            ("POST", "/run-now"),
        ):
            answer = mail.get(f"tasks/{foreign}{path}") if method == "GET" else mail.post(f"tasks/{foreign}{path}")
            assert refused(answer, 404)
            assert answer.body["message"].replace(foreign, ABSENT) == unknown.body["message"]
        assert mail.post(f"tasks/{own}/cancel").status == 202
        hand.fail()
        assert refused(mail.post(f"dlq/{foreign}/requeue"), 404)
        assert refused(mail.post(f"dlq/{foreign}/discard"), 404)
        assert master.get(f"tasks/{foreign}").body["status"] == "dead_lettered"
        assert mail.get("dlq").body["items"] == []
        assert len(master.get("dlq").body["items"]) == 1

    def test_a_damaged_record_is_out_of_reach(self, mail: Keyed, master: Keyed, redis_client: redis.Redis) -> None:
        task_id = mail.submit("mail-eu")
        redis_client.hdel(f"dtq:task:{task_id}", "queue")
        assert refused(mail.get(f"tasks/{task_id}"), 404)
        assert mail.get("tasks").body["items"] == []
        assert master.get(f"tasks/{task_id}").code == "UNREADABLE_RECORD"

    def test_lists_and_filters(self, master: Keyed, mail: Keyed, hand: Hand) -> None:
        for _ in range(3):
            for queue in ("secret", "mail-eu", "mail-us"):
                master.submit(queue, idempotency_key=f"{queue}-{_}")
        master.submit("secret-2", task_type="hidden", delay_seconds=60)
        hand.claim(4)
        assert {task["queue"] for task in mail.get("tasks").body["items"]} == {"mail-eu", "mail-us"}
        seen: list[str] = []
        cursor: str | None = None
        while True:
            page = mail.get("tasks", {"limit": 2, **({"cursor": cursor} if cursor else {})})
            seen += page.ids
            cursor = page.body["next"]
            if cursor is None:
                break
        everything = [task for task in master.get("tasks").body["items"] if task["queue"].startswith("mail-")]
        assert seen == [task["id"] for task in everything]
        for query in ({"status": "queued"}, {"status": "running"}, {"task_type": "echo"}, {"q": seen[0][:6]}):
            listed = mail.get("tasks", {**query, "limit": 100}).body["items"]
            assert {task["queue"] for task in listed} <= {"mail-eu", "mail-us"}
            assert len(listed) == sum(
                all(task.get(name) == value for name, value in query.items() if name != "q") for task in everything
            )
        assert len(mail.get("tasks", {"queue": "mail-eu"}).ids) == 3
        assert refused(mail.get("tasks", {"queue": "secret"}))
        assert refused(mail.get("tasks", {"queue": "unheard-of"}))
        assert mail.get("tasks", {"q": "secret-0"}).body["items"] == []
        assert len(mail.get("tasks", {"q": "mail-eu-0"}).ids) == 1
        assert [queue["name"] for queue in mail.get("queues").body["items"]] == ["mail-eu", "mail-us"]

    def test_a_reach_of_many_queues_is_paged_all_the_same(self, master: Keyed, mail: Keyed) -> None:
        for n in range(12):
            master.submit(f"mail-{n}")
            master.submit(f"secret-{n}")
        first = mail.get("tasks", {"limit": 7})
        rest = mail.get("tasks", {"limit": 7, "cursor": first.body["next"]})
        queues = [task["queue"] for task in first.body["items"] + rest.body["items"]]
        assert queues == [f"mail-{n}" for n in reversed(range(12))]
        assert rest.body["next"] is None

    def test_a_reach_of_no_queue_sees_nothing(self, master: Keyed, grant: Callable[..., Keyed], hand: Hand) -> None:
        master.submit("secret")
        hand.claim()
        nothing = grant("read", queues=["none-*"])
        assert nothing.get("tasks").body == {"items": [], "next": None}
        assert nothing.get("queues").body["items"] == []

    def test_dead_letters(self, master: Keyed, mail: Keyed, hand: Hand) -> None:
        for queue in ("secret", "mail-eu", "mail-eu", "secret"):
            master.submit(queue)
            hand.fail(message="same")
        [fingerprint] = {letter["fingerprint"] for letter in master.get("dlq").body["items"]}
        for query in ({}, {"fingerprint": fingerprint}):
            letters = mail.get("dlq", query).body["items"]
            assert [letter["queue"] for letter in letters] == ["mail-eu", "mail-eu"]
            assert [letter["fingerprint"] for letter in letters] == [fingerprint] * 2
            assert letters[0]["failed_at"] >= letters[1]["failed_at"]
        first = mail.get("dlq", {"limit": 1}).body
        assert mail.get("dlq", {"limit": 1, "cursor": first["next"]}).body["next"] is None
        assert mail.post(f"dlq/{first['items'][0]['task_id']}/requeue").status == 202

    def test_queues_by_name(self, master: Keyed, mail: Keyed) -> None:
        master.submit("mail-eu")
        master.submit("secret")
        assert mail.get("queues/mail-eu").status == 200
        assert mail.get("queues/mail-none").status == 404
        for queue in ("secret", "unheard-of"):
            assert refused(mail.get(f"queues/{queue}"))
            for action in ("pause", "resume", "purge"):
                assert refused(mail.post(f"queues/{queue}/{action}"))
        assert mail.post("queues/mail-eu/pause").body["paused"]["by"] == "key:ci"
        assert mail.post("queues/mail-eu/resume").body["paused"] is None
        assert mail.post("queues/mail-eu/purge").body == {"done": 1, "remaining": 0}
        assert master.get("queues/secret").body["queued"] == 1

    def test_what_spans_all_queues_is_refused(self, master: Keyed, mail: Keyed, hand: Hand) -> None:
        master.submit("secret")
        hand.fail()
        for path in ("dlq/groups", "workers", "workers/w1", "audit"):
            assert refused(mail.get(path))
        assert refused(mail.post("dlq/purge"))
        assert len(master.get("dlq").body["items"]) == 1
        assert Client().get("/metrics", headers={"X-API-Key": mail.secret}).status_code == 403


class TestLimits:
    def test_past_its_rate_a_key_is_told_when_to_come_again(self, grant: Callable[..., Keyed]) -> None:
        slow = grant("read", rate="0.02")
        assert slow.get("queues").status == 200
        answer = slow.get("queues")
        assert (answer.status, answer.code, answer.body.get("details")) == (429, "RATE_LIMITED", None)
        assert 49 <= int(answer.headers["Retry-After"]) <= 50
        scraped = Client().get("/metrics", headers={"X-API-Key": slow.secret})
        assert (scraped.status_code, scraped.headers["Retry-After"]) == (429, answer.headers["Retry-After"])

    def test_the_setting_limits_keys_but_not_the_almighty_one(
        self, wired: Configure, grant: Callable[..., Keyed]
    ) -> None:
        wired(api_key=MASTER, api_rate_limit=0.02)
        limited = grant("read")
        assert [limited.get("queues").status for _ in range(2)] == [200, 429]
        assert [Keyed(MASTER).get("queues").status for _ in range(3)] == [200] * 3

    def test_a_refused_submission_is_counted(self, grant: Callable[..., Keyed], redis_client: redis.Redis) -> None:
        slow = grant("submit", rate="0.02")
        slow.submit("mail")
        assert slow.post("tasks", {"task_type": "echo"}).status == 429
        runtime.refusals().flush()
        assert redis_client.hget("dtq:stats:refused", "rate_limited") == b"1"


class TestWithoutTheAlmightyKey:
    def test_open_mode_ends_with_the_first_key_and_returns_with_the_last(self, api: Api, wired: Configure) -> None:
        assert api.get("queues").status == 200
        secret = runtime.api_keys().grant(parse_grant("ci", ["read"]), ACTOR)
        answer = api.call("GET", "queues")
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, 'ApiKey realm="dtq"')
        assert Client().get("/metrics").status_code == 401
        assert Keyed(secret).get("queues").status == 200
        assert Client().get("/metrics", headers={"X-API-Key": secret}).status_code == 200
        runtime.api_keys().revoke("ci", ACTOR)
        wired()  # what is remembered for a second is forgotten
        assert api.get("queues").status == 200

    def test_the_metrics_token_counts_then_as_well(self, wired: Configure, api: Api) -> None:
        wired(metrics_token="scraper")
        runtime.api_keys().grant(parse_grant("ci", ["read"]), ACTOR)
        assert Client().get("/metrics", headers={"Authorization": "Bearer scraper"}).status_code == 200


def test_the_audit_names_the_key_and_where_it_came_from(master: Keyed, grant: Callable[..., Keyed]) -> None:
    task_id = master.submit("mail")
    assert grant("operate", name="night-shift").post(f"tasks/{task_id}/cancel", x_request_id="r-1").status == 202
    entry = master.get("audit").body["items"][0]
    assert (entry["actor"], entry["action"], entry["source"]) == ("key:night-shift", "cancel", "127.0.0.1")
    assert entry["request_id"] == "r-1"


def test_a_key_costs_one_call_and_the_almighty_one_none(
    master: Keyed, grant: Callable[..., Keyed], redis_client: redis.Redis
) -> None:
    def calls(client: Keyed) -> int:
        before = redis_client.info("stats")["total_commands_processed"]
        assert client.get("nothing").status == 404
        return int(redis_client.info("stats")["total_commands_processed"] - before)

    reader = grant("read", rate="1000")
    calls(reader)  # the script gets known, its use is written
    alone = calls(master)
    script = calls(reader) - alone
    assert script <= 5  # the call, and within it: TIME, HMGET, HSET


@pytest.mark.parametrize("place", ["query", "cookie", "bearer", "body"])
def test_a_key_counts_in_its_header_only(grant: Callable[..., Keyed], place: str) -> None:
    secret = grant("read").secret
    url = f"/api/v1/tasks?api_key={secret}" if place == "query" else "/api/v1/tasks"
    headers = {"cookie": {"cookie": f"X-API-Key={secret}"}, "bearer": {"authorization": f"Bearer {secret}"}}
    body = f'{{"api_key": "{secret}"}}'.encode() if place == "body" else b""
    answer = Api().raw("GET", url, body, "application/json" if body else "", **headers.get(place, {}))
    assert answer.status_code == 401
    assert secret not in answer.content.decode()
