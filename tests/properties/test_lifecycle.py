"""Random lives of many tasks. ``DTQ_TEST_LIVES=long`` looks much longer than every run of the tests does."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.properties.refusals import Refusals
from tests.support.backend import Backend

SHORT = settings(
    max_examples=30,
    stateful_step_count=40,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
PROFILES = {"short": SHORT, "long": settings(SHORT, max_examples=2000, stateful_step_count=80)}
PROFILE = os.environ.get("DTQ_TEST_LIVES", "short")


@pytest.mark.timeout({"short": 900, "long": 7200}[PROFILE])  # a failure is made small before it is shown
def test_the_store_does_what_the_model_does(backend: Backend) -> None:
    run_state_machine_as_test(type("Lifecycle", (Refusals,), {"backend": backend}), settings=PROFILES[PROFILE])
