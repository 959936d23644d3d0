"""Operations as they are kept: one hash each (docs/redis-keys.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tasks_app.domain.errors import UnreadableRecord, ValidationError
from tasks_app.domain.operation import TRIALS, Operation, OperationState, Reckoning, Selection, statuses_of
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import Action
from tasks_app.store.operation_filter import bounds


def selection_of(values: Mapping[str, object]) -> Selection:
    """A filter from what is kept of it. Raises TypeError, ValueError."""
    status = values.get("status")
    return Selection(**{**values, "status": None if status is None else TaskStatus(str(status))})  # type: ignore[arg-type]


def decode_operation(operation_id: str, record: Mapping[bytes, bytes]) -> Operation:
    """An operation from its record. Raises UnreadableRecord."""
    try:
        texts = {name.decode(): value for name, value in record.items()}
        skipped = {name[8:]: int(count) for name, count in texts.items() if name.startswith("skipped:")}
        operation = Operation(
            id=operation_id,
            action=Action(texts["action"].decode()),
            selection=selection_of(json.loads(texts["selection"])),
            state=OperationState(texts["state"].decode()),
            reckoning=Reckoning(int(texts["total"]), texts["exact"] == b"1"),
            looked=int(texts.get("looked", 0)),
            done=int(texts.get("done", 0)),
            told=int(texts.get("told", 0)),
            skipped=dict(sorted(skipped.items(), key=lambda pair: -pair[1])),
            actor=texts["actor"].decode(),
            source=texts["source"].decode(),
            request_id=texts["request_id"].decode(),
            created_at=int(texts["created_at"]),
            ended_at=int(texts["ended_at"]) if "ended_at" in texts else None,
            ended_by=texts["ended_by"].decode() if "ended_by" in texts else None,
            place=texts["place"],
            trials=int(texts["trials"]) if "trials" in texts else None,
            trying=tuple(texts.get("trying", b"").decode().split()),
            failed=int(texts.get("failed", 0)),
        )
        # What a step could not go by would end every turn at this operation, and none after it would have its own.
        statuses_of(operation.action, operation.selection)
        bounds(operation.selection, operation.place)
        if (operation.trials or 0) < 0 or len(operation.trying) > TRIALS[-1]:
            raise ValueError("there is no such trial")
    except (ValueError, LookupError, TypeError, AttributeError, ValidationError) as error:
        raise UnreadableRecord(f"The operation's record does not decode: {error}") from error
    return operation
