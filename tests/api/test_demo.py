"""The made-up shop: its traffic is what it claims to be, and its handlers do what its payloads say."""

from __future__ import annotations

import asyncio
import inspect
import io
import random
from collections import Counter
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tasks_app import runtime
from tasks_app.api.submitting import to_submission
from tasks_app.demo import handlers
from tasks_app.demo.traffic import WAVE_S, Traffic
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.handlers.context import TaskContext
from tasks_app.handlers.errors import PermanentError, RetryableError
from tasks_app.handlers.registry import Registry
from tasks_app.management.commands import demo
from tests.api.client import Api
from tests.api.conftest import Configure


def sample(count: int = 2000) -> list[dict[str, Any]]:
    traffic = Traffic(random.Random(7))
    return [traffic.next() for _ in range(count)]


async def perform(task_type: str, payload: dict[str, Any], attempt: int = 1) -> Any:
    """Run a handler of the shop."""
    shop = Registry()
    handlers.register_shop(shop)
    handler = shop.get(task_type)
    assert handler is not None
    done = handler.function(payload, TaskContext(attempt=attempt, max_attempts=4))
    return await done if inspect.isawaitable(done) else done


@pytest.mark.usefixtures("wired")
def test_every_submission_is_valid_and_the_mix_is_varied() -> None:
    submissions = [to_submission(raw) for raw in sample()]
    queues = Counter(submission.queue for submission in submissions)
    assert set(queues) == {"emails", "payments", "images", "reports", "default"}
    assert min(queues.values()) > 50
    assert len({submission.priority for submission in submissions}) >= 5
    assert any(submission.delay_ms for submission in submissions)
    assert any(submission.ttl_ms for submission in submissions)
    known = set(runtime.registry().names())
    assert {submission.task_type for submission in submissions} <= known


def test_the_same_source_gives_the_same_traffic() -> None:
    assert sample(100) == sample(100)


def test_some_orders_come_twice_with_one_key() -> None:
    keys = Counter(raw["idempotency_key"] for raw in sample() if raw["task_type"] == "payment.capture")
    assert 0 < sum(count > 1 for count in keys.values()) < len(keys) / 5


def test_the_rate_swings_around_its_mean() -> None:
    traffic = Traffic()
    rates = [traffic.rate_at(second, 10) for second in range(int(WAVE_S))]
    assert min(rates) > 0
    assert max(rates) > 2 * min(rates)
    assert sum(rates) / len(rates) == pytest.approx(10, rel=0.02)


def test_only_what_can_be_cancelled_is_offered_for_it_and_once() -> None:
    traffic = Traffic(random.Random(1))
    traffic.accepted({"task_type": "email.send"}, "quick")
    traffic.accepted({"task_type": "report.build"}, "long")
    traffic.accepted({"task_type": "email.send", "delay_seconds": 9}, "delayed")
    asked = [traffic.cancel() for _ in range(2000)]
    assert Counter(asked) == Counter({None: 1998, "long": 1, "delayed": 1})


@pytest.fixture
def instant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the shop."""
    nap = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds: nap(0))
    monkeypatch.setattr(handlers, "_burn", lambda seconds: None)


@pytest.mark.usefixtures("instant")
async def test_tasks_end_as_their_payload_says() -> None:
    assert "message_id" in await perform("email.send", {"to": "ada@mail.example", "template": "welcome"})
    assert await perform("cache.warm", {"urls": 5}) == {"fetched": 5}
    assert await perform("stock.sync", {"items": 5}) == {"updated": 5}
    assert (await perform("report.build", {"kind": "vat", "pages": 12}))["pages"] == 12
    assert (await perform("payment.capture", {"card": "4242", "amount": 500}))["captured"] == 500
    resized = await perform("image.resize", {"file": "a.jpg", "widths": [160, 320]})
    assert [size["width"] for size in resized["sizes"]] == [160, 320]


@pytest.mark.usefixtures("instant")
@pytest.mark.parametrize(
    ("task_type", "payload", "attempt", "error"),
    [
        ("email.send", {"to": f"x@{handlers.UNKNOWN_DOMAIN}"}, 1, PermanentError),
        ("email.send", {"to": f"x@{handlers.BUSY_DOMAIN}"}, 2, RetryableError),
        ("email.send", {"to": f"x@{handlers.BUSY_DOMAIN}"}, 3, None),
        ("email.send", {"to": None}, 1, PermanentError),
        ("payment.capture", {"card": handlers.DECLINED_CARD, "amount": 5}, 1, PermanentError),
        ("payment.capture", {"card": handlers.BUSY_CARD, "amount": 5}, 1, RetryableError),
        ("payment.capture", {"card": handlers.BUSY_CARD, "amount": 5}, 2, None),
        ("payment.capture", {"card": handlers.DEAD_CARD, "amount": 5}, 3, RetryableError),
        ("payment.capture", {"card": "4242", "amount": "5"}, 1, PermanentError),
        ("image.resize", {"file": f"a{handlers.CORRUPT_SUFFIX}"}, 1, PermanentError),
    ],
)
async def test_failures_are_of_the_kind_their_payload_says(
    task_type: str, payload: dict[str, Any], attempt: int, error: type[Exception] | None
) -> None:
    if error is None:
        await perform(task_type, payload, attempt)
    else:
        with pytest.raises(error):
            await perform(task_type, payload, attempt)


class Clock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(demo, "time", fake)
    return fake


def test_the_command_sends_at_its_rate_for_its_time(api: Api, clock: Clock) -> None:
    out = io.StringIO()
    call_command("demo", "--rate", "20", "--for", "60", stdout=out)
    assert clock.now == pytest.approx(60, abs=1)
    sent = sum(queue["queued"] + queue["pending"] for queue in api.get("queues").body["items"])
    assert 600 < sent < 1800
    assert "accepted" in out.getvalue().splitlines()[-1]


@pytest.mark.usefixtures("clock")
def test_the_command_outlives_redis_and_does_not_catch_up(wired: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = demo._Run.step, []

    def step(run: demo._Run, now: float) -> None:
        calls.append(now)
        if 10 < now < 20:
            raise StoreUnavailable("Redis cannot be reached")
        real(run, now)

    monkeypatch.setattr(demo._Run, "step", step)
    err = io.StringIO()
    call_command("demo", "--rate", "5", "--for", "30", stdout=io.StringIO(), stderr=err)
    assert max(calls) > 29
    assert err.getvalue().count("trying again") == 5


def test_without_demo_handlers_the_command_says_so(wired: Configure) -> None:
    wired(api_key="k")
    with pytest.raises(CommandError, match="DTQ_DEMO_TASKS"):
        call_command("demo")
