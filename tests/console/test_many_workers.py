"""Six hundred workers: the page stays small and asks in as few round trips as for one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tasks_app.store.presence import Heartbeat, Presence
from tests.support.builders import make_config

if TYPE_CHECKING:
    import redis
    from django.test import Client

    from tests.support.stage import Stage


def _beat(presence: Presence, number: int, running: tuple[str, ...]) -> None:
    presence.heartbeat(
        Heartbeat(
            worker_id=f"host-{number:03d}-0123456789ab",
            host=f"host-{number:03d}",
            pid=number,
            version="1.0",
            started_at_s=1.0,
            state="busy",
            concurrency=20,
            occupied=len(running),
            queues=("mail", "media", "reports", "default", "bulk"),
            processed=1000,
            failed=3,
            running=running,
        )
    )


@pytest.mark.real_redis
async def test_the_page_of_600_workers_is_small(browser: Client, stage: Stage, redis_client: redis.Redis) -> None:
    presence = Presence(redis_client, make_config())
    running = [(await stage.running()).id for _ in range(5)]
    for number in range(600):
        _beat(presence, number, tuple(running))
    for path in ("/", "/workers/"):
        answer = browser.get(path)
        assert answer.status_code == 200
        assert len(answer.content) < 200 * 1024, path
    address: str | None = "/workers/"
    seen: list[str] = []
    while address:
        page = browser.get(address).text
        assert "600 alive, 3,000 of 12,000 slots in use" in page
        assert "and 2 more" in page
        seen += re.findall(r'data-row="([^"]+)"', page)
        found = re.search(r'rel="next" href="([^"]+)"', page)
        address = found[1] if found else None
    assert len(seen) == len(set(seen)) == 600
    assert "No worker further down" in browser.get("/workers/?from=5000").text
    assert browser.get("/workers/?from=x").status_code == 200
