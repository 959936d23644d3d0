"""How many start before a waiting task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tasks_app.console.presenters.waiting import why_not_running
from tests.console.test_presenters import QUEUE, TASK, WORKER

if TYPE_CHECKING:
    from django.test import Client

    from tests.support.stage import Stage


@pytest.mark.parametrize(
    ("ahead", "said"),
    [(0, "First in its band"), (2, "2 ahead of it in its band"), (1001, "More than 1,000 ahead of it in its band")],
)
def test_a_place_in_the_band_counts_those_that_start_before(ahead: int, said: str) -> None:
    told = why_not_running(TASK, QUEUE, [WORKER], "leader", 100, ahead)
    assert f"{said} p5" in [reason.text for reason in told]


def test_who_is_alone_in_its_band_has_no_place() -> None:
    told = why_not_running(TASK, replace(QUEUE, bands={5: 1}), [WORKER], "leader", 100, 0)
    assert "in its band" not in " ".join(reason.text for reason in told)


def test_the_page_of_the_oldest_says_that_it_is_first(browser: Client, stage: Stage) -> None:
    first, *_, last = [stage.submit() for _ in range(4)]
    assert "First in its band p5" in browser.get(f"/tasks/{first}/").text
    assert "3 ahead of it in its band p5" in browser.get(f"/tasks/{last}/").text
