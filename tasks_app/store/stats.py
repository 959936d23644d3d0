"""Counters and duration histograms over time, from the per-minute statistics that the scripts keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tasks_app.domain.snapshot import QueueFlow, Series, StatsPoint
from tasks_app.store import codec
from tasks_app.store.reader import Pipeline, Reader
from tasks_app.store.scripts import BUCKETS_MS

GRAINS: Mapping[str, tuple[str, int]] = {
    "15m": ("m", 15),
    "1h": ("m", 60),
    "6h": ("m", 360),
    "24h": ("t", 144),
    "7d": ("h", 168),
}
"""Per window: the grain of its points (m: minute, t: ten minutes, h: hour) and how many there are."""

_TEN_MS = 600_000
_UNROLLED_SPANS = 2
"""Ten-minute spans read as minutes at the end of a coarse window: the running one and the one before it."""
SEPARATORS = 2
"""In the name of a field: ``<queue>|<type>|<measure>``."""
_BUCKETS = {f"{kind}{bucket}": bucket for kind in "wr" for bucket in range(len(BUCKETS_MS) + 1)}
_SAMPLED = (b"|depth", b"|oldest")
_SPAN_MS = {"m": 60_000, "t": 600_000, "h": 3_600_000}
_COUNTERS = frozenset(
    {"submitted", "running", "succeeded", "retrying", "failed", "dead_lettered", "cancelled", "expired"}
)


class Stats(Reader):
    """Reads windows of statistics."""

    def series(self, window: str, queue: str | None = None, task_type: str | None = None) -> Series:
        """The points of ``window`` (a key of :data:`GRAINS`), oldest first, the current one last and not yet whole.

        Two round trips and one command a point, whatever the number of tasks. What is not summed up yet into the
        coarser grains is taken from its minutes, so that a longer window never knows less than a shorter one.
        """
        grain, count = GRAINS[window]
        span = _SPAN_MS[grain]
        (seconds, micros), rolled = self._all(lambda pipe: (pipe.time(), pipe.get(self._keys.rolled)))
        now = seconds * 1000 + micros // 1000
        newest = now // span
        numbers = range(newest - count + 1, newest + 1)
        ten = now // _TEN_MS
        first = max(codec.number(rolled), ten - _UNROLLED_SPANS) + 1
        minutes = range(first * 10, now // _SPAN_MS["m"] + 1) if grain != "m" else range(0)

        def read(pipe: Pipeline) -> None:
            for number in numbers:
                pipe.hgetall(self._keys.stats(grain, number))
            for minute in minutes:
                pipe.hgetall(self._keys.stats("m", minute))

        records = self._all(read)
        parts = {number: [record] for number, record in zip(numbers, records, strict=False)}
        for minute, record in zip(minutes, records[count:], strict=True):
            parts[minute * _SPAN_MS["m"] // span].append(record)
        points = [_point(number * span, summed(parts[number]), queue, task_type) for number in numbers]
        return Series(window=window, span_ms=span, points=points)

    def flows(self, minutes: int = 3) -> dict[str, QueueFlow]:
        """Per queue with any traffic, its flow over the last ``minutes``, the running one included. Two round trips."""
        seconds, _ = self._one("time")
        newest, into_this_one = divmod(int(seconds), 60)

        def read(pipe: Pipeline) -> None:
            for number in range(newest - minutes + 1, newest + 1):
                pipe.hgetall(self._keys.stats("m", number))

        into: dict[str, int] = {}
        out: dict[str, int] = {}
        for record in self._all(read):
            for name, text in record.items():
                if name.count(b"|") != SEPARATORS:
                    continue
                queue, _, measure = codec.name(name).split("|")
                if measure in ("submitted", "running"):
                    total = into if measure == "submitted" else out
                    total[queue] = total.get(queue, 0) + codec.number(text)
        span = minutes - 1 + max(into_this_one, 1) / 60
        return {
            queue: QueueFlow(into.get(queue, 0) / span, out.get(queue, 0) / span) for queue in into.keys() | out.keys()
        }


def summed(records: list[dict[bytes, bytes]]) -> Iterable[tuple[bytes, int]]:
    """The fields of a span's parts: counters add up, of samples the greatest counts."""
    total: dict[bytes, int] = {}
    for record in records:
        for name, text in record.items():
            if name.count(b"|") != SEPARATORS:
                continue  # none of ours
            value, before = codec.number(text), total.get(name)
            if before is not None:
                value = max(value, before) if name.endswith(_SAMPLED) else value + before
            total[name] = value
    return total.items()


def _point(at: int, fields: Iterable[tuple[bytes, int]], queue: str | None, task_type: str | None) -> StatsPoint:
    counters = dict.fromkeys(_COUNTERS, 0)
    waits, runs = [0] * (len(BUCKETS_MS) + 1), [0] * (len(BUCKETS_MS) + 1)
    sums = {"ws": 0, "rs": 0}
    depth: int | None = None
    oldest: int | None = None
    for name, value in fields:
        of_queue, of_type, measure = codec.name(name).split("|")
        if queue is not None and of_queue != queue:
            continue
        if measure == "depth":
            depth = (depth or 0) + value
        elif measure == "oldest":
            oldest = max(oldest or 0, value)
        elif task_type is not None and of_type != task_type:
            continue
        elif measure in counters:
            counters[measure] += value
        elif measure in sums:
            sums[measure] += value
        elif measure in _BUCKETS:
            (waits if measure[0] == "w" else runs)[_BUCKETS[measure]] += value
    return StatsPoint(
        at=at,
        submitted=counters["submitted"],
        started=counters["running"],
        succeeded=counters["succeeded"],
        retried=counters["retrying"],
        failed=counters["failed"] + counters["dead_lettered"],
        cancelled=counters["cancelled"],
        expired=counters["expired"],
        waits=tuple(waits),
        runs=tuple(runs),
        wait_sum_ms=sums["ws"],
        run_sum_ms=sums["rs"],
        depth=depth,
        oldest_ms=oldest,
    )


def percentile(histogram: Iterable[int], fraction: float) -> float | None:
    """The ``fraction`` quantile of a wait or run histogram in ms, interpolated inside its bucket.

    ``None`` without samples. What lies past the last bound counts as that bound: the answer is then "at least".
    """
    counts = list(histogram)
    wanted = fraction * sum(counts)
    if not wanted:
        return None
    passed = 0
    for i, count in enumerate(counts):
        if count and passed + count >= wanted:
            if i == len(BUCKETS_MS):
                break
            low = BUCKETS_MS[i - 1] if i else 0
            return low + (BUCKETS_MS[i] - low) * (wanted - passed) / count
        passed += count
    return float(BUCKETS_MS[-1])
