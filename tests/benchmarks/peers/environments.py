"""The entrants' virtual environments, made from PyPI once and kept under ``var/peers``."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.benchmarks.peers.catalogue import Entrant
from tests.benchmarks.stage import ROOT

CACHE = ROOT / "var" / "peers"
_REQUIREMENTS = Path(__file__).parent / "requirements"
_STAMP = ".made-from"


class NotToBeHad(Exception):
    """An entrant cannot take part on this machine; the message says why."""


def programs(entrant: Entrant) -> Path:
    """The ``bin`` folder of the entrant's environment, which is made if need be.

    Raises:
        NotToBeHad: no interpreter is new enough, or the packages cannot be installed.
    """
    if not entrant.package:
        return Path(sys.executable).parent
    python = interpreter(entrant.needs)
    requirements = _REQUIREMENTS / f"{entrant.app}.txt"
    made_from = hashlib.sha256(python.encode() + requirements.read_bytes()).hexdigest()
    folder = CACHE / entrant.app
    stamp = folder / _STAMP
    if not stamp.exists() or stamp.read_text() != made_from:
        shutil.rmtree(folder, ignore_errors=True)
        _run(python, "-m", "venv", str(folder))
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements))
        _run(str(folder / "bin" / "python"), *install)
        stamp.write_text(made_from)
    return folder / "bin"


def version(entrant: Entrant) -> str:
    """The entrant's release and its Python's; for those of the project's environment, its Python's alone."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    if not entrant.package:
        return f"Python {python}"
    ask = (
        "import importlib.metadata, platform, sys;"
        "print(importlib.metadata.version(sys.argv[1]), 'on Python', platform.python_version())"
    )
    return _run(str(programs(entrant) / "python"), "-c", ask, entrant.package).strip()


@cache
def interpreter(needs: tuple[int, int]) -> str:
    """A Python that is at least ``needs``: this one where it is, else the oldest that is found.

    Raises:
        NotToBeHad: there is none.
    """
    candidates = [sys.executable]
    for minor in range(needs[1], needs[1] + 4):
        name = f"python{needs[0]}.{minor}"
        found = shutil.which(name)
        candidates += [found] if found else []
        candidates += [str(path) for path in sorted(Path.home().glob(f".pyenv/versions/*/bin/{name}"))]
    for candidate in candidates:
        ask = "import sys; print(sys.version_info[:2] >= tuple(map(int, sys.argv[1:])))"
        # A version manager's stand-in is on the path whether or not it leads to an interpreter.
        answer = subprocess.run([candidate, "-c", ask, *map(str, needs)], capture_output=True, text=True)
        if answer.returncode == 0 and answer.stdout.strip() == "True":
            return candidate
    raise NotToBeHad(f"it needs Python {needs[0]}.{needs[1]}, and none is installed here")


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotToBeHad(f"{' '.join(command[1:4])} failed: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout
