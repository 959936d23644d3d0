"""The exception tree: each error carries a code and details that can be shown."""

from __future__ import annotations

import json

import pytest

from tasks_app.domain import errors
from tasks_app.domain.errors import DtqError, ValidationError

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, DtqError)]


@pytest.mark.parametrize("error", CLASSES)
def test_every_code_is_a_word_for_machines(error: type[DtqError]) -> None:
    assert error.code.replace("_", "").isupper()


def test_codes_tell_errors_apart() -> None:
    codes = [error.code for error in CLASSES if error is not errors.MalformedJson]
    assert len(codes) == len(set(codes))


def test_details_travel() -> None:
    error = errors.TaskFinished("It is over", task_id="t1", status="failed")
    assert (str(error), error.message) == ("It is over", "It is over")
    assert error.details == {"task_id": "t1", "status": "failed"}


def test_a_validation_error_names_its_fields() -> None:
    error = ValidationError({"queue": ["must match"], "priority": ["must be a whole number"]})
    assert error.message == "Invalid input: priority must be a whole number; queue must match"
    assert error.fields == {"queue": ["must match"], "priority": ["must be a whole number"]}
    assert json.loads(json.dumps(error.details)) == {"fields": error.fields}


def test_a_message_stays_short() -> None:
    error = ValidationError({name: ["is not a field of a task"] for name in "edcba"})
    assert error.message.startswith("Invalid input: a is not a field of a task; b is not")
    assert error.message.endswith("c is not a field of a task (and 2 more)")
    assert set(error.details["fields"]) == set("abcde")
