"""Many schedules in a row, and the page that says what they came to."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.chaos.faults import Fault
from tests.chaos.simulator import Outcome, Simulator

CLOCK: Callable[[], float] = time.perf_counter


@dataclass
class Report:
    """The sum of all schedules. ``failed`` has the outcomes of those that broke something."""

    first: int
    schedules: int = 0
    took_s: float = 0.0
    simulated_s: float = 0.0
    calls: int = 0
    tasks: int = 0
    executions: int = 0
    finishes: int = 0
    lost: int = 0
    double_finishes: int = 0
    longest_recovery: tuple[int, int] = (0, 0)
    longest_drain: tuple[float, int] = (0.0, 0)
    faults: Counter[str] = field(default_factory=Counter)
    duplicates: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    failed: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        totals = outcome.totals
        self.schedules += 1
        self.simulated_s += outcome.simulated_s
        self.calls += outcome.trace.calls
        self.tasks += totals.tasks
        self.executions += totals.executions
        self.finishes += totals.finishes
        self.lost += totals.lost
        self.double_finishes += totals.double_finishes
        self.longest_recovery = max(self.longest_recovery, (totals.longest_recovery_ms, outcome.seed))
        self.longest_drain = max(self.longest_drain, (outcome.drained_after_s, outcome.seed))
        self.faults += outcome.faults
        self.duplicates += totals.duplicates
        self.endings += totals.endings
        if outcome.failures:
            self.failed.append(outcome)

    def page(self) -> str:
        """At most a page of text."""
        recovery_ms, recovery_seed = self.longest_recovery
        drain_s, drain_seed = self.longest_drain
        lines = [
            f"schedules            {self.schedules:>9,}   seeds {self.first} to {self.first + self.schedules - 1}",
            f"took                 {self.took_s:>9,.0f} s, {self.schedules / max(self.took_s, 1):.1f} a second",
            f"simulated            {self.simulated_s / 3600:>9,.1f} h, {self.calls:,} calls of Redis",
            f"faults               {self.faults.total():>9,}",
            *(f"  {kind:<18} {self.faults[kind]:>9,}" for kind in Fault),
            f"tasks accepted       {self.tasks:>9,}",
            *(f"  {ending:<18} {count:>9,}" for ending, count in self.endings.most_common()),
            f"executions           {self.executions:>9,}",
            f"outcomes written     {self.finishes:>9,}",
            f"run again            {self.duplicates.total():>9,}   because the worker before",
            *(f"  {reason:<18} {count:>9,}" for reason, count in self.duplicates.most_common()),
            f"losses               {self.lost:>9,}",
            f"double finishes      {self.double_finishes:>9,}",
            f"longest recovery     {recovery_ms / 1000:>9,.1f} s simulated, from a worker's last sign of life until its"
            f" task was started again (seed {recovery_seed})",
            f"longest drain        {drain_s:>9,.1f} s simulated, from the last fault until every task had ended"
            f" (seed {drain_seed})",
            f"schedules that failed{len(self.failed):>9,}",
        ]
        for outcome in self.failed[:5]:
            lines += [f"  seed {outcome.seed}: {outcome.failures[0][:300]}"]
            lines += [f"    replay: .venv/bin/python -m tests.chaos --seed {outcome.seed}"]
        return "\n".join(lines)


def run_for(url: str, seconds: float, first: int) -> Report:
    """Run the schedules of ``first`` and the seeds after it for that long; stops early after five failures."""
    report = Report(first)
    began = CLOCK()
    with Simulator(url) as simulator:
        while CLOCK() - began < seconds and len(report.failed) < 5:
            report.add(simulator.run(first + report.schedules))
    report.took_s = CLOCK() - began
    return report
