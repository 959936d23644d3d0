"""``python -m tests.benchmarks [--runs 5] [scenario ...]``: one JSON line per scenario, medians with their spread."""

from __future__ import annotations

import argparse
import json
from functools import partial

from tests.benchmarks.figures import Figures, summary
from tests.benchmarks.quiet import undisturbed
from tests.benchmarks.scenarios import SCENARIOS
from tests.benchmarks.stage import machine, stage


def main() -> None:
    """Run what was asked for, scenarios taking turns, so that a slow minute of the machine is shared by all."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=", ".join(SCENARIOS))
    parser.add_argument("--runs", type=int, default=5, help="repetitions of each scenario (default: %(default)s)")
    parser.add_argument("--spare", type=int, default=0, help="repeat that many runs of each that others disturbed")
    parser.add_argument("--patience", type=float, default=0, help="seconds to wait before a run for an idle machine")
    options = parser.parse_args()
    unknown = set(options.scenarios) - set(SCENARIOS)
    if unknown:
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    with stage() as first:
        print(json.dumps({"machine": machine(first.client), "runs": options.runs}))
    names = options.scenarios or list(SCENARIOS)
    rounds: dict[str, list[Figures]] = {name: [] for name in names}
    for _ in range(options.runs):
        for name in names:
            rounds[name] += undisturbed(partial(_once, name), runs=1, spare=options.spare, patience_s=options.patience)
    for name in names:
        print(json.dumps({"scenario": name, **summary(rounds[name])}), flush=True)


def _once(name: str) -> Figures:
    with stage() as fresh:
        return SCENARIOS[name](fresh)


if __name__ == "__main__":
    main()
