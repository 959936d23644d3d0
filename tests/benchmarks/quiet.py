"""Whether the machine was ours: how much of its processors others used during a run.

On a shared machine a figure says little without this. Runs that were disturbed are repeated, within limits, and what
remains is reported with the figures.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.figures import Figures

TOLERATED_PERCENT = 8.0
"""Of all cores together. Interrupts and the kernel's own threads are nobody's process and come to a few percent."""
_TICKS_S = os.sysconf("SC_CLK_TCK")
_LOOK_S = 0.5

OTHERS = "others_cpu_percent"


def undisturbed(run: Callable[[], Figures], *, runs: int, spare: int, patience_s: float) -> list[Figures]:
    """``runs`` results, each with the percentage that others used; the least disturbed of ``runs + spare`` tries.

    Before each try it waits up to ``patience_s`` for the machine to be idle.
    """
    results: list[Figures] = []
    for _ in range(runs + spare):
        _wait_until_idle(patience_s)
        results.append(_observed(run))
        print("." if results[-1][OTHERS] <= TOLERATED_PERCENT else "x", end="", file=sys.stderr, flush=True)
        if sum(result[OTHERS] <= TOLERATED_PERCENT for result in results) == runs:
            break
    return sorted(results, key=lambda result: result[OTHERS])[:runs]


def _observed(run: Callable[[], Figures]) -> Figures:
    began, machine, own = time.monotonic(), _machine_s(), _own_s()
    figures = run()
    capacity = (time.monotonic() - began) * (os.cpu_count() or 1)
    others = (_machine_s() - machine) - (_own_s() - own)
    return {**figures, OTHERS: max(0.0, others) / capacity * 100}


def _wait_until_idle(patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        before = _machine_s()
        time.sleep(_LOOK_S)
        if (_machine_s() - before) / (_LOOK_S * (os.cpu_count() or 1)) * 100 <= TOLERATED_PERCENT:
            return


def _machine_s() -> float:
    """CPU seconds that anybody has used since the start of the machine, those a host took away included."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / _TICKS_S


def _own_s() -> float:
    """CPU seconds of this process and of every process below it that has ended and was waited for."""
    return sum(os.times()[:4])
