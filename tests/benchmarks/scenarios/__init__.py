"""The scenarios. Each gets a fresh stage and returns its figures; rates are per second, times are milliseconds."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.figures import Figures
from tests.benchmarks.scenarios import (
    bounding,
    draining,
    memory,
    operating,
    pages,
    scheduling,
    serving,
    submitting,
    waiting,
    watching,
)
from tests.benchmarks.stage import Stage

SCENARIOS: dict[str, Callable[[Stage], Figures]] = {
    "submit_single": submitting.single,
    "submit_bulk": submitting.bulk,
    "drain_noop_1_process": draining.drain("noop", 1, 200),
    "drain_noop_2_processes": draining.drain("noop", 2, 200),
    "drain_noop_sync_1_process": draining.drain("noop_sync", 1, 64),
    "drain_noop_sync_2_processes": draining.drain("noop_sync", 2, 64),
    "slots_async": draining.slots("sleep"),
    "slots_sync": draining.slots("sleep_sync"),
    "mix": draining.mix,
    "idle_latency": waiting.latency,
    "idle_cost": waiting.cost,
    "due_at_once": scheduling.due_at_once,
    "bounded": bounding.bounded,
    "operation_at_large": operating.at_large,
    "http_single": serving.single,
    "http_single_with_the_key": serving.single_with_the_key,
    "http_single_with_a_named_key": serving.single_with_a_named_key,
    "http_single_while_draining": serving.single_while_draining,
    "http_bulk": serving.bulk,
    "http_past_saturation": serving.past_saturation,
    "console_pages": pages.console,
    "console_ten_tabs": watching.ten_tabs,
    "worker_memory": memory.worker,
    **{
        f"scale_{processes}_processes_{queues}_queues": draining.scaled(processes, queues)
        for queues in (1, 10, 100)
        for processes in (1, 2, 4, 8)
    },
}
