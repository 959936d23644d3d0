"""What tasks leave behind."""

from __future__ import annotations

from tests.benchmarks.figures import Figures
from tests.benchmarks.stage import Stage, memory, process_rss_mb

TASKS = 200_000


def worker(stage: Stage) -> Figures:
    """Resident memory of one worker process after 500 tasks and after 200,000 more; Redis memory per finished task."""
    with stage.workers(1, 200) as (pid,):
        stage.submit(500)
        stage.wait_for(lambda: stage.succeeded() == 500)
        before_mb, before = process_rss_mb(pid), memory(stage.client)
        stage.submit(TASKS)
        stage.wait_for(lambda: stage.succeeded() == TASKS + 500)
        return {
            "rss_mb_before": before_mb,
            "rss_mb_after": process_rss_mb(pid),
            "bytes_per_finished_task": (memory(stage.client) - before) / TASKS,
        }
