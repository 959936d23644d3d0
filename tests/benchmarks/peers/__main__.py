"""``python -m tests.benchmarks.peers [--runs 3] [peer ...]``: one JSON line per entrant, medians with their spread."""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial

from tests.benchmarks.figures import Figures, summary
from tests.benchmarks.peers.catalogue import ENTRANTS
from tests.benchmarks.peers.environments import NotToBeHad, programs, version
from tests.benchmarks.peers.race import run
from tests.benchmarks.quiet import undisturbed
from tests.benchmarks.stage import machine, stage


def main() -> None:
    """Run those that were asked for, taking turns, so that a busy minute of the machine is shared by all."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers", description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="peer", help=", ".join(ENTRANTS))
    parser.add_argument("--runs", type=int, default=3, help="rounds (default: %(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual number of tasks, for a quick look")
    parser.add_argument("--spare", type=int, default=0, help="repeat a round of a peer that often when disturbed")
    parser.add_argument("--patience", type=float, default=0, help="seconds to wait before each for an idle machine")
    options = parser.parse_args()
    unknown = set(options.peers) - set(ENTRANTS)
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    present = []
    for name in options.peers or ENTRANTS:
        try:
            programs(ENTRANTS[name])
            present.append(name)
        except NotToBeHad as error:
            print(json.dumps({"peer": name, "left_out": str(error)}), flush=True)
    with stage() as first:
        print(json.dumps({"machine": machine(first.client), "runs": options.runs, "scale": options.scale}), flush=True)
    rounds: dict[str, list[Figures]] = {name: [] for name in present}
    failures: dict[str, str] = {}
    for number in range(options.runs):
        for name in present:
            begun = time.monotonic()
            try:
                rounds[name] += undisturbed(
                    partial(run, ENTRANTS[name], options.scale),
                    runs=1,
                    spare=options.spare,
                    patience_s=options.patience,
                )
            except (TimeoutError, RuntimeError) as error:
                failures[name] = str(error)  # a peer that fails is reported, and must not end everybody's run
            took = time.monotonic() - begun
            print(f"round {number + 1}: {name} {took:.0f} s {failures.get(name, '')}", file=sys.stderr, flush=True)
    for name in present:
        about = {"peer": name, "version": version(ENTRANTS[name]), "settings": ENTRANTS[name].settings}
        failed = {"failed": failures[name]} if name in failures else {}
        print(json.dumps({**about, **summary(rounds[name]), **failed}), flush=True)


if __name__ == "__main__":
    main()
