"""``python -m tests.benchmarks.report FILE...``: JSON lines of both harnesses as tables for docs/performance.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.quiet import OTHERS

PEER_COLUMNS = {
    "submit_per_s": "one/s",
    "bulk_per_s": "bulk/s",
    "drain_1_per_s": "1 process/s",
    "drain_2_per_s": "2 processes/s",
    "bytes_per_waiting_task": "B/task",
}
LATENCY = ("p50_ms", "p95_ms", "p99_ms")

Line = dict[str, Any]


def main() -> None:
    """Print a table for each kind of line that the files hold."""
    lines = [json.loads(line) for name in sys.argv[1:] for line in Path(name).read_text().splitlines()]
    for part in (_machines(lines), _scenarios(lines), _peers(lines)):
        print("\n".join(part), end="\n\n")


def _machines(lines: Iterable[Line]) -> Iterator[str]:
    for line in lines:
        if "machine" in line:
            yield "; ".join(f"{name} {value}" for name, value in {**line["machine"], "runs": line["runs"]}.items())


def _scenarios(lines: Iterable[Line]) -> Iterator[str]:
    yield from ("| scenario | figure | median | lowest | highest |", "|---|---|---|---|---|")
    for line in lines:
        for name, figure in line.items():
            if "scenario" in line and isinstance(figure, dict) and name != OTHERS:
                values = " | ".join(_number(figure[key]) for key in ("median", "lowest", "highest"))
                yield f"| {line['scenario']} | {name} | {values} |"


def _peers(lines: Iterable[Line]) -> Iterator[str]:
    yield f"| system | {' | '.join(PEER_COLUMNS.values())} | idle p50/p95/p99 ms |"
    yield "|---" * (len(PEER_COLUMNS) + 2) + "|"
    for line in lines:
        if "peer" not in line:
            continue
        if "left_out" in line:
            yield f"| {line['peer']} | left out: {line['left_out']} |"
            continue
        cells = [_median(line, name) for name in PEER_COLUMNS]
        yield f"| {line['peer']} | {' | '.join(cells)} | {'/'.join(_median(line, name) for name in LATENCY)} |"


def _median(line: Line, name: str) -> str:
    return _number(line[name]["median"]) if name in line else "–"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
