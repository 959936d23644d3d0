"""The event stream: names of what changed, coalesced, bounded, ended with its listener, healed after an outage."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tasks_app.domain.api_key import Reach
from tasks_app.live import hub as hub_module
from tasks_app.live import stream as stream_module
from tasks_app.live.hub import Hub
from tasks_app.live.stream import EventStream, Verdict
from tasks_app.live.topics import decode_message, merge, topics_of
from tasks_app.store.connections import connect_async
from tests.api.document import document
from tests.support.builders import ACTOR, make_config
from tests.support.stage import staged
from tests.support.until import until_async

if TYPE_CHECKING:
    from tests.support.backend import Backend
    from tests.support.server import PrivateServer
    from tests.support.stage import Stage

GET = {"type": "http", "method": "GET", "headers": []}


class Listener:
    """Whoever reads a stream: what came, and the means to leave."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.ended = False
        self._leave = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self._leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
            return
        self.ended = not message.get("more_body", False)
        text = message["body"].decode()
        if text.startswith("event: "):
            name, data = text.removeprefix("event: ").split("\ndata: ")
            self.events.append((name, json.loads(data)))

    def leave(self) -> None:
        self._leave.set()

    def heard(self, name: str) -> list[dict[str, Any]]:
        return [data for each, data in self.events if each == name]

    def topics(self) -> set[str]:
        return {topic for data in self.heard("changed") for topic in data["topics"]}


async def _anybody(scope: Any, again: bool) -> Verdict:
    return Verdict(200)


async def _nobody(scope: Any, again: bool) -> Verdict:
    return Verdict(401)


@asynccontextmanager
async def _listening(stream: EventStream) -> AsyncIterator[Listener]:
    listener = Listener()
    serving = asyncio.ensure_future(stream(dict(GET), listener.receive, listener.send))
    try:
        yield listener
    finally:
        listener.leave()
        await asyncio.wait_for(serving, 5)


@pytest.fixture
def hub(backend: Backend) -> Hub:
    return Hub(backend.async_client, lambda: "dtq:events")


async def _subscribed(hub: Hub) -> None:
    await until_async(lambda: hub.subscribed, what="the subscription")


async def test_it_names_what_changed(hub: Hub, stage: Stage) -> None:
    async with _listening(EventStream(hub, _anybody)) as listener:
        await _subscribed(hub)
        task_id = stage.submit(queue="mail", task_type="send")
        await until_async(lambda: listener.topics(), what="a change")
        assert listener.topics() == {"tasks", "queue:mail", "type:send", f"task:{task_id}"}
        stage.commands.pause("mail", ACTOR)
        await until_async(lambda: len(listener.heard("changed")) == 2)
        assert "events" not in listener.heard("changed")[0]
    assert listener.status == 200
    assert listener.events[0][0] == "hello"


async def test_whoever_is_greeted_misses_nothing_from_then_on(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, bool]] = []
    tell = stream_module._event

    async def told_and_noted(send: Any, name: str, data: dict[str, Any]) -> None:
        told.append((name, hub.subscribed))
        await tell(send, name, data)

    monkeypatch.setattr(stream_module, "_event", told_and_noted)
    async with _listening(EventStream(hub, _anybody)) as listener:
        await until_async(lambda: listener.heard("hello"))
    assert told == [("hello", True)]


async def test_clients_of_the_api_learn_statuses_as_well(hub: Hub, stage: Stage) -> None:
    async with _listening(EventStream(hub, _anybody, with_events=True)) as listener:
        await _subscribed(hub)
        task_id = stage.submit()
        await until_async(lambda: listener.heard("changed"))
        [event] = listener.heard("changed")[0]["events"]
        assert document().complaints({"$ref": "#/components/schemas/Changes"}, listener.heard("changed")[0]) == []
        assert event == {"status": "queued", "queue": "default", "type": "echo", "count": 1, "ids": [task_id]}


async def test_a_storm_is_at_most_two_updates_a_second(hub: Hub, stage: Stage) -> None:
    loop = asyncio.get_running_loop()
    async with _listening(EventStream(hub, _anybody)) as listener:
        await _subscribed(hub)
        began = loop.time()
        sent = 0
        while loop.time() - began < 1.6 or sent <= 50:  # it may stand still for a while
            await asyncio.to_thread(stage.submit)  # the loop goes on meanwhile
            sent += 1
        allowed = (loop.time() - began) / hub_module.MIN_GAP_S + 1
        assert 1 <= len(listener.heard("changed")) <= allowed


async def test_many_streams_are_one_subscription_and_none_is_left_behind(backend: Backend, stage: Stage) -> None:
    clients = []

    def connect() -> Any:
        clients.append(backend.async_client())
        return clients[-1]

    hub = Hub(connect, lambda: "dtq:events")
    stream = EventStream(hub, _anybody)
    async with _listening(stream) as one, _listening(stream) as two, _listening(stream) as three:
        await until_async(lambda: hub.streams == 3 and hub.subscribed, what="three streams")
        stage.submit()
        for listener in (one, two, three):
            await until_async(listener.topics, what="a change")
        assert len(clients) == 1
    assert hub.streams == 0
    assert not hub.subscribed


async def test_past_its_cap_a_process_refuses(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "MAX_STREAMS", 1)
    stream = EventStream(hub, _anybody)
    async with _listening(stream):
        await until_async(lambda: hub.streams == 1)
        async with _listening(stream) as refused:
            await until_async(lambda: refused.ended)
            assert refused.status == 503


async def test_who_may_not_listen_gets_no_stream(hub: Hub) -> None:
    async with _listening(EventStream(hub, _nobody)) as listener:
        await until_async(lambda: listener.ended)
    assert listener.status == 401
    assert hub.streams == 0


async def test_what_is_out_of_reach_is_not_told(hub: Hub, stage: Stage) -> None:
    async def some(scope: Any, again: bool) -> Verdict:
        return Verdict(200, Reach(("mail-*",)))

    async with _listening(EventStream(hub, some, with_events=True)) as listener:
        await _subscribed(hub)
        stage.submit(queue="secret", task_type="hidden")
        seen = stage.submit(queue="mail-eu", task_type="send")
        await until_async(lambda: listener.topics(), what="a change")
        assert listener.topics() == {"tasks", "queue:mail-eu", "type:send", f"task:{seen}"}
        assert "hidden" not in json.dumps(listener.events)


@pytest.mark.parametrize(("status", "ends"), [(401, True), (403, True), (503, False), (429, False)])
async def test_a_stream_ends_at_the_beat_after_its_right_is_gone(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, status: int, ends: bool
) -> None:
    monkeypatch.setattr(stream_module, "BEAT_S", 0.05)
    asked = []

    async def once(scope: Any, again: bool) -> Verdict:
        asked.append(again)
        return Verdict(status if again else 200)

    async with _listening(EventStream(hub, once)) as listener:
        if ends:
            await until_async(lambda: listener.ended)
            assert asked == [False, True]
            assert [name for name, _ in listener.events] == ["hello", "resync"], "the page reads anew, and sees why"
        else:
            await until_async(lambda: len(listener.heard("beat")) > 1)
            assert not listener.ended


async def test_only_a_get_opens_a_stream(hub: Hub) -> None:
    for method in ("HEAD", "POST", "DELETE"):
        listener = Listener()
        await EventStream(hub, _anybody)({**GET, "method": method}, listener.receive, listener.send)
        assert (listener.status, listener.ended) == (405, True)
        assert listener.headers[b"allow"] == b"GET"


async def test_a_closing_process_ends_its_streams(hub: Hub) -> None:
    async with _listening(EventStream(hub, _anybody)) as listener:
        await until_async(lambda: listener.heard("hello"))
        hub.close()
        await until_async(lambda: listener.ended)


async def test_after_an_outage_it_subscribes_again_and_asks_for_a_resync(aof_server: PrivateServer) -> None:
    hub = Hub(lambda: connect_async(aof_server.url), lambda: "dtq:events")
    async with _listening(EventStream(hub, _anybody)) as listener:
        await _subscribed(hub)
        aof_server.stop()
        await until_async(lambda: len(listener.heard("resync")) == 1, what="the loss is told")
        assert not hub.subscribed
        aof_server.start()
        await until_async(lambda: len(listener.heard("resync")) == 2, timeout=15, what="the return is told")
        async with staged(aof_server.url, make_config()) as stage:
            stage.submit()
        await until_async(lambda: listener.heard("changed"), what="it hears again")


@pytest.mark.real_redis
async def test_a_killed_subscription_comes_back(hub: Hub, stage: Stage) -> None:
    async with _listening(EventStream(hub, _anybody)) as listener:
        await _subscribed(hub)
        stage.client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        await until_async(lambda: len(listener.heard("resync")) == 2, what="the loss and the return")
        stage.submit()
        await until_async(lambda: listener.heard("changed"))


def test_messages_that_are_not_ours_change_nothing() -> None:
    for text in ("", "nonsense", "[]", "{}", '{"events":[{}]}', '{"events":[{"status":"x","queue":"q","type":"t"}]}'):
        assert decode_message(text) == []
    [paused] = decode_message('{"ts":1,"events":[{"status":"paused","queue":"q","type":"","count":0,"ids":{}}]}')
    assert topics_of([paused]) == ["tasks", "queue:q"]


def test_what_concerns_more_tasks_than_are_named_concerns_any_task() -> None:
    changes = decode_message(
        json.dumps({"events": [{"status": "queued", "queue": "q", "type": "t", "count": 5, "ids": ["a"]}]})
    )
    assert topics_of(changes) == ["tasks", "queue:q", "type:t", "task:*"]
    summed: dict[tuple[str, str, str], Any] = {}
    merge(summed, changes)
    merge(summed, changes)
    assert [change.count for change in summed.values()] == [10]
