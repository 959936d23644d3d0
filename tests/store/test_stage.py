"""Each status is reached by real steps, and everything agrees there (the guard looks after each)."""

from __future__ import annotations

import pytest

from tasks_app.domain.status import TaskStatus
from tests.support.stage import Stage


@pytest.mark.parametrize("status", TaskStatus)
async def test_each_status_is_reached_by_real_steps(stage: Stage, status: TaskStatus) -> None:
    assert stage.status(await stage.task(status)) == status


@pytest.mark.parametrize("status", TaskStatus)
async def test_each_status_is_reached_with_an_idempotency_key(stage: Stage, status: TaskStatus) -> None:
    assert stage.status(await stage.task(status, idempotency_key="k")) == status
