"""Named keys at the API: scopes, patterns of queues, limits; and who the audit names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.test import Client

from tasks_app import runtime
from tasks_app.api.listening import may_follow
from tasks_app.domain.api_key import parse_grant
from tests.api.client import Api
from tests.api.conftest import Configure
from tests.api.keyed import ALMIGHTY, Keyed, refused
from tests.support.builders import ACTOR

if TYPE_CHECKING:
    import redis


class TestScopes:
    def test_a_reader_only_reads(self, almighty: Keyed, grant: Callable[..., Keyed]) -> None:
        task_id, reader = almighty.submit("mail"), grant("read")
        assert reader.get(f"tasks/{task_id}").status == 200
        assert [queue["name"] for queue in reader.get("queues").body["items"]] == ["mail"]
        for path in ("workers", "audit", "dlq", "dlq/groups"):
            assert reader.get(path).status == 200
        assert refused(reader.post("tasks", {"task_type": "echo"}))
        assert refused(reader.post(f"tasks/{task_id}/cancel"))
        assert refused(reader.post("queues/mail/purge"))

    def test_a_producer_only_submits(self, almighty: Keyed, grant: Callable[..., Keyed]) -> None:
        task_id, producer = almighty.submit("mail"), grant("submit")
        assert producer.submit("mail") != task_id
        assert producer.post("tasks/bulk", {"tasks": [{"task_type": "echo"}]}).body["accepted"] == 1
        assert refused(producer.get(f"tasks/{task_id}"))
        assert refused(producer.get("tasks"))
        assert refused(producer.post(f"tasks/{task_id}/cancel"))

    def test_an_operator_acts_and_reads(self, almighty: Keyed, grant: Callable[..., Keyed]) -> None:
        task_id, operator = almighty.submit("mail"), grant("operate")
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


class TestLimits:
    def test_past_its_rate_a_key_is_told_when_to_come_again(self, grant: Callable[..., Keyed]) -> None:
        slow = grant("read", rate="0.02")
        assert slow.get("queues").status == 200
        answer = slow.get("queues")
        assert (answer.status, answer.code, answer.body.get("details")) == (429, "RATE_LIMITED", None)
        scraped = Client().get("/metrics", headers={"X-API-Key": slow.secret})
        assert scraped.status_code == 429
        assert 40 <= int(scraped.headers["Retry-After"]) <= int(answer.headers["Retry-After"]) <= 50

    def test_the_setting_limits_keys_but_not_the_almighty_one(
        self, wired: Configure, grant: Callable[..., Keyed]
    ) -> None:
        wired(api_key=ALMIGHTY, api_rate_limit=0.02)
        limited = grant("read")
        assert [limited.get("queues").status for _ in range(2)] == [200, 429]
        assert [Keyed(ALMIGHTY).get("queues").status for _ in range(3)] == [200] * 3

    def test_a_refused_submission_is_counted(self, grant: Callable[..., Keyed], redis_client: redis.Redis) -> None:
        slow = grant("submit", rate="0.02")
        slow.submit("mail")
        assert slow.post("tasks", {"task_type": "echo"}).status == 429
        runtime.refusals().flush()
        assert redis_client.hget("dtq:stats:refused", "rate_limited") == b"1"


@pytest.mark.real_redis  # metrics need INFO, which fakeredis has not
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


def test_the_audit_names_the_key_and_where_it_came_from(almighty: Keyed, grant: Callable[..., Keyed]) -> None:
    task_id = almighty.submit("mail")
    assert grant("operate", name="night-shift").post(f"tasks/{task_id}/cancel", x_request_id="r-1").status == 202
    entry = almighty.get("audit").body["items"][0]
    assert (entry["actor"], entry["action"], entry["source"]) == ("key:night-shift", "cancel", "127.0.0.1")
    assert entry["request_id"] == "r-1"


@pytest.mark.real_redis
def test_a_key_costs_one_call_and_the_almighty_one_none(
    almighty: Keyed, grant: Callable[..., Keyed], redis_client: redis.Redis
) -> None:
    def calls(client: Keyed) -> int:
        before = redis_client.info("stats")["total_commands_processed"]
        assert client.get("nothing").status == 404
        return int(redis_client.info("stats")["total_commands_processed"] - before)

    reader = grant("read", rate="1000")
    calls(reader)  # the script gets known, its use is written
    alone = calls(almighty)
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


@pytest.mark.parametrize(
    ("scopes", "rules", "statuses"),
    [
        (["read"], {}, [200, 200]),
        (["operate"], {}, [200, 200]),
        (["submit"], {}, [403, 403]),
        (["read"], {"rate": "0.02"}, [200, 429]),
    ],
)
def test_events_are_for_who_reads(
    grant: Callable[..., Keyed], scopes: list[str], rules: dict[str, str], statuses: list[int]
) -> None:
    held = {"headers": [(b"x-api-key", grant(*scopes, queues=["mail-*"], **rules).secret.encode())]}
    verdicts = [asyncio.run(may_follow(held, False)) for _ in statuses]
    assert [verdict.status for verdict in verdicts] == statuses
    for verdict in verdicts:
        assert verdict.reach.globs == (("mail-*",) if verdict.status == 200 else ())
        assert (verdict.retry_after_s is not None) == (verdict.status == 429)
    if 429 in statuses:
        assert asyncio.run(may_follow(held, True)).status == 200  # to be asked again is no request


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [(b"x-api-key", b"")],
        [(b"x-api-key", b"wrong")],
        [(b"x-api-key", b"\xff\xfe")],
        [(b"x-api-key", b"wrong"), (b"x-api-key", ALMIGHTY.encode())],
    ],
)
def test_events_are_not_for_strangers(almighty: Keyed, sent: list[tuple[bytes, bytes]]) -> None:
    assert asyncio.run(may_follow({"headers": sent}, False)).status == 401
    assert asyncio.run(may_follow({"headers": [(b"x-api-key", ALMIGHTY.encode())]}, False)).status == 200
