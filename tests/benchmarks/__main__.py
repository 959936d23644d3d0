"""``python -m tests.benchmarks [--runs 5] [scenario ...]``: one JSON line per scenario, medians with their spread."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from tests.benchmarks.figures import summary
from tests.benchmarks.scenarios import SCENARIOS
from tests.benchmarks.stage import machine, stage


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=", ".join(SCENARIOS))
    parser.add_argument("--runs", type=int, default=5, help="repetitions of each scenario (default: %(default)s)")
    options = parser.parse_args()
    unknown = set(options.scenarios) - set(SCENARIOS)
    if unknown:
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    with stage() as first:
        print(json.dumps({"machine": machine(first.client), "runs": options.runs}))
    for name in options.scenarios or SCENARIOS:
        print(json.dumps({"scenario": name, **_repeat(name, options.runs)}), flush=True)


def _repeat(name: str, runs: int) -> dict[str, Any]:
    results = []
    for _ in range(runs):
        with stage() as fresh:
            results.append(SCENARIOS[name](fresh))
        print(".", end="", file=sys.stderr, flush=True)
    return summary(results)


if __name__ == "__main__":
    main()
