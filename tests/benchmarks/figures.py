"""What several runs of one thing come to."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Figures = dict[str, float]


def summary(results: Sequence[Figures]) -> dict[str, Any]:
    """Per figure its median and its spread; a figure that a run does not have is left out of that run only."""
    names = {name: None for result in results for name in result}
    return {name: _summary([result[name] for result in results if name in result]) for name in names}


def _summary(values: list[float]) -> dict[str, float]:
    return {
        "median": _rounded(statistics.median(values)),
        "lowest": _rounded(min(values)),
        "highest": _rounded(max(values)),
    }


def _rounded(value: float) -> float:
    return round(value) if value >= 1000 else round(value, 3)
