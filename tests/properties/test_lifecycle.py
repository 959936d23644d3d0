"""Random lives of many tasks. ``DTQ_TEST_LIVES`` says how many sequences of steps are tried."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.properties.machine import Lifecycle
from tests.support.backend import Backend


@pytest.mark.timeout(900)  # a failure is made small before it is shown, which takes a while
def test_the_store_does_what_the_model_does(backend: Backend) -> None:
    run_state_machine_as_test(
        type("Lifecycle", (Lifecycle,), {"backend": backend}),
        settings=settings(
            max_examples=int(os.environ.get("DTQ_TEST_LIVES", "30")),
            stateful_step_count=40,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )
