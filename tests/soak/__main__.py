"""``python -m tests.soak [--seconds N] [--rate N] [--write FILE]``: exit code 1 when an account does not balance."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import django

from tests.soak.installation import Installation

RETENTION_S = 60
"""Far longer than the longest pause in which nobody asks for the ended tasks, such as while the server is away."""


def main() -> int:
    """Soak, then print the report."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800, help="of load (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=150, help="tasks a second (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--write", type=Path, help="write the report there as well")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    folder = Path(tempfile.mkdtemp(prefix="dtq-soak-"))
    installation = Installation(folder, retention_s=RETENTION_S, idempotency_s=20)
    # The library reads its settings from the environment, like any program that submits.
    os.environ.update(installation.settings, DJANGO_SETTINGS_MODULE="dtq_site.settings")
    try:
        installation.start()
        django.setup()
        from tests.soak.course import Course  # its modules read the settings

        text, held = Course(installation, options.seconds, options.rate, options.seed, RETENTION_S).run()
    finally:
        installation.close()
    print(text)
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    if held:
        shutil.rmtree(folder)
    else:
        print(f"The ledger and the logs are kept in {folder}", file=sys.stderr)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
