"""Series as the charts draw them: columns of numbers, and a sentence for those who do not see the picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tasks_app.console.presenters import numbers
from tasks_app.domain.snapshot import DeadLetterGroup, Series
from tasks_app.store.stats import percentile

WINDOWS = {"15m": "15 min", "1h": "1 h", "6h": "6 h", "24h": "24 h", "7d": "7 d"}
DEFAULT_WINDOW = "1h"


@dataclass(frozen=True, slots=True)
class Line:
    """``swatch`` is 1..5, a ``--chart-*`` colour."""

    label: str
    swatch: int
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """``unit`` is ``rate`` (per minute), ``ms`` or ``count``; ``summary`` says in words what is drawn."""

    name: str
    title: str
    unit: str
    lines: Sequence[Line]
    summary: str
    json: str


def charts(series: Series) -> list[Chart]:
    """Throughput, wait, run and depth over the series' window."""
    points = series.points
    minutes = series.span_ms / 60_000
    times = [point.at / 1000 for point in points]

    def per_minute(values: Sequence[int]) -> list[float | None]:
        # The running span is not whole yet: drawn as a rate it would look like a fall.
        return [*(round(value / minutes, 2) for value in values[:-1]), None]

    waits = [[_rounded(percentile(point.waits, f)) for point in points] for f in (0.5, 0.95)]
    runs = [[_rounded(percentile(point.runs, f)) for point in points] for f in (0.5, 0.95)]
    return [
        _chart(
            "throughput",
            "Throughput per minute",
            "rate",
            times,
            [
                Line("succeeded", 1, per_minute([point.succeeded for point in points])),
                Line("failed", 2, per_minute([point.failed for point in points])),
                Line("retried", 3, per_minute([point.retried for point in points])),
            ],
            f"In this window {sum(p.succeeded for p in points):,} succeeded, {sum(p.failed for p in points):,} failed "
            f"and {sum(p.retried for p in points):,} were retried.",
        ),
        _chart(
            "depth",
            "Waiting tasks",
            "count",
            times,
            [Line("waiting", 4, [point.depth for point in points])],
            _depth_words([point.depth for point in points]),
        ),
        _chart(
            "wait",
            "Wait before start",
            "ms",
            times,
            [
                Line("p50", 4, waits[0]),
                Line("p95", 5, waits[1]),
                Line("oldest waiting", 3, [point.oldest_ms for point in points]),
            ],
            _percentile_words("waited", [point.waits for point in points]),
        ),
        _chart(
            "run",
            "Run time",
            "ms",
            times,
            [Line("p50", 4, runs[0]), Line("p95", 5, runs[1])],
            _percentile_words("ran", [point.runs for point in points]),
        ),
    ]


def trend(series: Series) -> Chart:
    """How many ended for good in each span of the series: whether it is getting worse."""
    counts = [point.failed for point in series.points]
    span = f"{series.span_ms // numbers.MINUTE} min"
    return _trend("Failed for good", span, [point.at for point in series.points], counts, WINDOWS[series.window])


def trend_of_kind(group: DeadLetterGroup) -> Chart:
    """How many of one kind were added in each hour of a day."""
    first = group.current_hour - (len(group.hourly) - 1) * numbers.HOUR
    ats = [first + i * numbers.HOUR for i in range(len(group.hourly))]
    return _trend("Failed for good, of this kind", "hour", ats, group.hourly, "24 h")


def _trend(title: str, span: str, ats: Sequence[int], counts: Sequence[int], window: str) -> Chart:
    drawn: list[float | None] = [*counts]
    if len(counts) > 1 and counts[-1] < counts[-2]:
        # The running span is not whole yet: drawn while it is behind, it would look like a fall.
        drawn[-1] = None
    return _chart(
        "failed",
        f"{title}, per {span}",
        "count",
        [at / 1000 for at in ats],
        [Line("failed", 2, drawn)],
        f"{sum(counts):,} in the last {window}; {counts[-1]:,} of them in the current {span}.",
    )


def window_percentile(histograms: Sequence[Sequence[int]], fraction: float) -> float | None:
    """A quantile over several points' histograms, in ms; ``None`` without samples."""
    return percentile([sum(column) for column in zip(*histograms, strict=True)], fraction)


def _chart(name: str, title: str, unit: str, times: Sequence[float], lines: Sequence[Line], summary: str) -> Chart:
    text = json.dumps(
        {
            "unit": unit,
            "times": times,
            "lines": [{"label": line.label, "swatch": line.swatch, "values": line.values} for line in lines],
        },
        separators=(",", ":"),
    )
    return Chart(name, title, unit, lines, summary, text)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _depth_words(depths: Sequence[int | None]) -> str:
    known = [depth for depth in depths if depth is not None]
    if not known:
        return "No sample of the depth in this window."
    return f"At most {max(known):,} tasks waited at once; {known[-1]:,} at the last sample."


def _percentile_words(verb: str, histograms: Sequence[Sequence[int]]) -> str:
    half, most = window_percentile(histograms, 0.5), window_percentile(histograms, 0.95)
    if half is None:
        return "No task started in this window." if verb == "waited" else "No task finished in this window."
    return f"Half of the tasks {verb} under {numbers.duration(half)}, 95 % under {numbers.duration(most)}."
