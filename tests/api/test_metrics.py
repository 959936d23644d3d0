"""``/metrics``: who may read it, what it says, and what refused submissions leave there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from tasks_app import runtime
from tasks_app.domain.errors import StoreUnavailable, ValidationError
from tasks_app.store.connections import connect
from tasks_app.store.metrics import Observer
from tests.api.client import Api
from tests.api.conftest import Configure
from tests.api.hand import Hand
from tests.support.scrape import Scrape
from tests.support.until import until

if TYPE_CHECKING:
    from tests.support.server import PrivateServer

pytestmark = pytest.mark.real_redis  # fakeredis has no INFO
KEY, TOKEN = "the-api-key", "the-metrics-token"


def get(**headers: str) -> Any:
    return Client().get("/metrics", headers={name.replace("_", "-"): value for name, value in headers.items()})


def scrape() -> Scrape:
    """What the site says; refusals of this process included."""
    runtime.refusals().flush()
    answer = get()
    assert answer.status_code == 200
    return Scrape(answer.content.decode())


class TestAccess:
    def test_open_local_mode_asks_nobody(self, api: Api) -> None:
        answer = get()
        assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (200, "text/plain")
        assert "max-age=0" in answer.headers["Cache-Control"]

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({}, 401),
            ({"x_api_key": KEY}, 200),
            ({"x_api_key": TOKEN}, 401),
            ({"x_api_key": "schlüssel"}, 401),
            ({"authorization": f"Bearer {TOKEN}"}, 200),
            ({"authorization": f"bearer {TOKEN}"}, 200),
            ({"authorization": f"Bearer {KEY}"}, 401),
            ({"authorization": f"Basic {TOKEN}"}, 401),
            ({"authorization": TOKEN}, 401),
            ({"authorization": "Bearer "}, 401),
        ],
    )
    def test_with_a_key_set_it_wants_key_or_token(self, wired: Configure, headers: dict[str, str], status: int) -> None:
        wired(api_key=KEY, metrics_token=TOKEN)
        answer = get(**headers)
        assert answer.status_code == status
        assert ("WWW-Authenticate" in answer.headers) == (status == 401)

    def test_no_token_set_is_no_empty_token(self, wired: Configure) -> None:
        wired(api_key=KEY)
        assert get(authorization="Bearer ").status_code == 401

    def test_it_is_only_read(self, api: Api) -> None:
        assert Client().post("/metrics").status_code == 405
        assert Client().head("/metrics").status_code == 200

    def test_without_redis_it_says_so(
        self, wired: Configure, make_server: Callable[..., PrivateServer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server = make_server()
        client = connect(server.url)
        monkeypatch.setattr(runtime, "client", lambda: client)
        monkeypatch.setattr(runtime.client, "cache_clear", lambda: None, raising=False)
        wired()
        assert get().status_code == 200
        server.kill()
        answer = get()
        assert (answer.status_code, answer.content) == (503, b"No metrics: Redis cannot be reached\n")


class TestContent:
    def test_the_format_is_what_the_client_asks_for(self, api: Api) -> None:
        api.submit()
        answer = get(accept="application/openmetrics-text;version=1.0.0")
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        assert answer.content.decode().endswith("# EOF\n")

    def test_names_follow_the_rules_of_the_field(self, api: Api, hand: Hand) -> None:
        api.submit()
        hand.succeed()
        for family in scrape().families:
            assert re.fullmatch(r"dtq_[a-z_]+[a-z]", family.name)
            assert family.documentation.endswith(".")
            if family.type == "counter":
                assert {sample.name for sample in family.samples} <= {f"{family.name}_total"}
            assert not re.search(r"_(ms|milliseconds|kb|percent)$", family.name)

    def test_counters_and_histograms(self, api: Api, hand: Hand) -> None:
        for _ in range(3):
            api.submit("echo", queue="mail")
        hand.succeed()
        hand.fail()
        seen = scrape()
        series = {"queue": "mail", "task_type": "echo"}
        assert seen("dtq_tasks_submitted_total", **series) == 3
        assert seen("dtq_tasks_started_total", **series) == 2
        assert seen("dtq_tasks_finished_total", **series, outcome="succeeded") == 1
        assert seen("dtq_tasks_finished_total", **series, outcome="dead_lettered") == 1
        for name in ("entries_absorbed", "leases_lost", "outcomes_dropped"):
            assert seen(f"dtq_{name}_total", **series) == 0
        assert seen("dtq_dead_letters", task_type="echo") == 1
        assert (seen("dtq_queue_waiting_tasks", queue="mail"), seen("dtq_queue_dead_letters", queue="mail")) == (1, 1)
        for name in ("dtq_task_wait_seconds", "dtq_task_run_seconds"):
            buckets = seen.values(f"{name}_bucket", **series)
            assert buckets == sorted(buckets)
            assert buckets[-1] == seen(f"{name}_count", **series) == 2
            assert seen(f"{name}_sum", **series) >= 0

    def test_a_pause_shows(self, api: Api) -> None:
        api.submit(queue="mail")
        api.post("queues/mail/pause", {"reason": "r"})
        assert scrape()("dtq_queue_paused", queue="mail") == 1


class TestRefusals:
    def test_each_kind_is_counted_by_its_code(self, wired: Configure) -> None:
        wired(max_queue_depth=1, max_payload_bytes=64)
        api = Api()
        api.submit(queue="a", idempotency_key="k")
        api.post("tasks", {"task_type": "echo", "queue": "a", "idempotency_key": "k"})
        api.post("tasks", {"task_type": "noop", "queue": "a", "idempotency_key": "k"})
        api.post("tasks", {"task_type": "echo", "queue": "a"})
        api.post("tasks", {"task_type": "echo", "payload": {"x": "y" * 100}})
        api.post("tasks", {})
        api.send("tasks", b"{")
        bulk = [{"task_type": "echo", "queue": "a"}, {"task_type": "echo", "queue": "b"}, {"task_type": 1}]
        assert api.post("tasks/bulk", {"tasks": bulk}).body["refused"] == 2
        api.post("tasks/bulk", {"tasks": []})
        seen = scrape()
        reasons = {
            sample.labels["reason"]: sample.value
            for family in seen.families
            if family.name == "dtq_ingest_refusals"
            for sample in family.samples
            if sample.value
        }
        assert reasons == {
            "idempotency_in_progress": 1,
            "idempotency_mismatch": 1,
            "queue_full": 2,
            "payload_too_large": 1,
            "validation_error": 4,
        }

    def test_only_submissions_count(self, api: Api) -> None:
        api.post("tasks/no-such-task/cancel")
        api.get("tasks", {"limit": "0"})
        api.call("GET", "/api/v1/nothing")
        assert scrape().total("dtq_ingest_refusals_total") == 0

    def test_the_way_in_for_python_counts_too(self, api: Api) -> None:
        with pytest.raises(ValidationError):
            runtime.submit_task("not a name")
        assert scrape()("dtq_ingest_refusals_total", reason="validation_error") == 1

    def test_what_redis_could_not_take_is_counted_later(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        def away(*args: object) -> None:
            raise StoreUnavailable("Redis cannot be reached")

        with monkeypatch.context() as patch:
            patch.setattr(type(runtime.commands()), "submit", away)
            assert api.post("tasks", {"task_type": "echo"}).status == 503
        assert scrape()("dtq_ingest_refusals_total", reason="redis_unavailable") == 1

    def test_they_reach_the_fleet_without_a_scrape_here(self, api: Api) -> None:
        api.post("tasks", {})
        other = Observer(runtime.client(), runtime.observer()._config)
        until(lambda: other.observe().refusals == {"validation_error": 1}, what="the refusal in Redis")
