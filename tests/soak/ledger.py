"""What really ran, from the ledger that the handlers wrote, and whether each run beyond the first had a reason."""

from __future__ import annotations

import bisect
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tests.soak.installation import Blow


@dataclass(slots=True)
class Run:
    """One start of a handler. ``end``: done, retryable, failed, stopped, or nothing when it never came to its end."""

    attempt: int
    pid: int
    at: float
    end: str = ""


def read(path: Path) -> dict[str, list[Run]]:
    """The runs by task, in the order in which they began."""
    runs: dict[str, list[Run]] = defaultdict(list)
    with path.open(encoding="ascii") as lines:
        for line in lines:
            task_id, attempt, what, pid, at = line.split()
            if what == "start":
                runs[task_id].append(Run(int(attempt), int(pid), float(at)))
                continue
            mine = (run for run in reversed(runs[task_id]) if (run.attempt, run.pid) == (int(attempt), int(pid)))
            next(mine).end = what
    return dict(runs)


class Reasons:
    """Which runs may be followed by another: those that ended so, and those whose process or server was struck."""

    def __init__(self, blows: list[Blow], runs: dict[str, list[Run]], suicides: set[str]) -> None:
        self._struck: dict[int, list[float]] = defaultdict(list)
        for blow in blows:
            self._struck[blow.pid].append(blow.at)
        for task_id in suicides:
            for run in runs.get(task_id, ()):
                if not run.end:
                    self._struck[run.pid].append(run.at)
        for times in self._struck.values():
            times.sort()

    def why(self, run: Run, following: Run, *, requeued: bool) -> str:
        """Why ``following`` was right after ``run``; nothing when it was not."""
        if run.end == "retryable" or (run.end == "failed" and requeued):
            return "its attempt failed"
        if self._blow_between(run.pid, run.at, following.at):
            return "its worker was struck"
        if self._blow_between(0, run.at, following.at):
            return "the server was away"
        if run.end == "stopped":
            return "its attempt was stopped"
        # Frozen between its claim and its start, and begun when it thawed, its lease long gone.
        if following.attempt < run.attempt and self._blow_between(following.pid, 0.0, following.at):
            return "a worker began late, after it had been frozen"
        return ""

    def _blow_between(self, pid: int, since: float, until: float) -> bool:
        times = self._struck.get(pid, [])
        place = bisect.bisect_left(times, since - 0.01)
        return place < len(times) and times[place] <= until
