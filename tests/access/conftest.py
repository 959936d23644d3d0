"""The whole site in this process, over the run's server."""

from __future__ import annotations

from tests.console.conftest import configure, stage

__all__ = ["configure", "stage"]
