"""``python -m tests.chaos``: schedules for some time and a report, or one seed and its trace."""

from __future__ import annotations

import argparse
import random
import sys

from tests.chaos.report import run_for
from tests.chaos.simulator import Simulator
from tests.support.server import PrivateServer


def main() -> int:
    """Returns the exit status: 1 when anything failed."""
    parser = argparse.ArgumentParser(prog="tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to go on (default: %(default)g)")
    parser.add_argument("--first", type=int, help="the first seed (default: a random one)")
    parser.add_argument("--seed", type=int, help="run this schedule alone and print what happened in it")
    options = parser.parse_args()
    server = PrivateServer()
    server.start()
    try:
        if options.seed is not None:
            return _replay(server.url, options.seed)
        first = random.randrange(10**9) if options.first is None else options.first
        report = run_for(server.url, options.seconds, first)
    finally:
        server.close()
    print(report.page())
    return 1 if report.failed else 0


def _replay(url: str, seed: int) -> int:
    with Simulator(url) as simulator:
        outcome = simulator.run(seed)
    for line in outcome.trace.lines():
        print(line)
    for failure in outcome.failures:
        print(f"FAILURE: {failure}")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
