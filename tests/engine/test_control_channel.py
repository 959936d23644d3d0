"""The control channel on a real server."""

from __future__ import annotations

import asyncio

import pytest
import redis
import redis.asyncio
from structlog.testing import capture_logs

from tasks_app.domain.errors import StoreUnavailable
from workers.engine import control as control_module
from workers.engine.control import ControlChannel

CHANNEL = "dtq:control:w"

pytestmark = pytest.mark.real_redis


def listening(client: redis.asyncio.Redis) -> tuple[ControlChannel, list[str]]:
    return ControlChannel(client, CHANNEL), []


async def step(channel: ControlChannel, heard: list[str]) -> None:
    await channel.run_once(heard.append, lambda: heard.append("told"))


async def listen(channel: ControlChannel, heard: list[str], steps: int) -> None:
    for _ in range(steps):
        await step(channel, heard)


async def hear(channel: ControlChannel, heard: list[str], number: int) -> None:
    async with asyncio.timeout(5):
        while len(heard) < number:
            await step(channel, heard)


async def test_what_is_said_is_heard(redis_client: redis.Redis, redis_async: redis.asyncio.Redis) -> None:
    channel, heard = listening(redis_async)
    await step(channel, heard)
    for task_id in ("a", "b"):
        redis_client.publish(CHANNEL, f'{{"cancel": "{task_id}"}}')
    redis_client.publish(CHANNEL, '{"told": true}')
    await hear(channel, heard, 3)
    assert heard == ["a", "b", "told"]
    await channel.close()


@pytest.mark.parametrize("nonsense", ["", "{", "[]", "7", '{"stop": 1}', '{"cancel": "a", "told": true}', "{}"])
async def test_nonsense_is_ignored(redis_client: redis.Redis, redis_async: redis.asyncio.Redis, nonsense: str) -> None:
    channel, heard = listening(redis_async)
    await step(channel, heard)
    redis_client.publish(CHANNEL, nonsense)
    redis_client.publish(CHANNEL, '{"cancel": "a"}')
    with capture_logs() as lines:
        await hear(channel, heard, 1)
    assert heard == ["a"]
    assert [line["event"] for line in lines] == ["CONTROL_MESSAGE_IGNORED"]
    await channel.close()


async def test_a_cut_connection_is_noticed_and_replaced(
    redis_client: redis.Redis, redis_async: redis.asyncio.Redis
) -> None:
    channel, heard = listening(redis_async)
    await step(channel, heard)
    await step(channel, heard)
    redis_client.client_kill_filter(_type="pubsub")
    with pytest.raises(StoreUnavailable):
        await listen(channel, heard, 3)
    await step(channel, heard)
    redis_client.publish(CHANNEL, '{"cancel": "a"}')
    await hear(channel, heard, 1)
    await channel.close()


async def test_a_silent_line_is_pinged_and_a_deaf_one_given_up(
    redis_client: redis.Redis, redis_async: redis.asyncio.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_module, "PING_EVERY_S", 0.02)
    channel, heard = listening(redis_async)
    await listen(channel, heard, 10)  # pings are answered: the line stays
    assert redis_client.pubsub_numsub(CHANNEL)[0][1] == 1
    pubsub = channel._pubsub
    assert pubsub is not None

    async def nothing(**kwargs: object) -> None:
        return None

    monkeypatch.setattr(pubsub, "get_message", nothing)
    with pytest.raises(StoreUnavailable):
        await listen(channel, heard, 3)
    await channel.close()
