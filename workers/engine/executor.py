"""Runs attempts: coroutines on the loop, functions in threads; ends each exactly once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass

import structlog

from tasks_app.domain.config import Config
from tasks_app.domain.outcome import Cancelled, Outcome
from tasks_app.domain.redaction import PayloadMask, Redaction, handled
from tasks_app.handlers import Registry, TaskContext
from tasks_app.handlers.context import NoteSink
from tasks_app.store.leases import Claimed
from workers.engine.committer import Committer, log_lost
from workers.engine.execution import Execution, Slots, Stop
from workers.engine.threads import ThreadPool
from workers.engine.verdicts import Judge, decode_payload, raised, succeeded, timed_out, unknown_type, word_for

log = structlog.get_logger(__name__)

STOP_GRACE_S = 1.0
"""How long a coroutine that was told to stop may take to clean up before its attempt ends without it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the application puts around each handler: around a function in its thread, around a coroutine on the loop.

    Made anew for each attempt. One that raises fails the attempt.
    """

    in_thread: Callable[[], AbstractContextManager[None]] = nullcontext
    on_loop: Callable[[], AbstractAsyncContextManager[None]] = nullcontext


class Executor:
    """Every method runs on the loop. ``leased`` maps a task's id to the attempt whose lease this worker has to keep."""

    def __init__(
        self,
        config: Config,
        registry: Registry,
        judge: Judge,
        slots: Slots,
        committer: Committer,
        sink: NoteSink,
        leased: dict[str, Execution],
        loop: asyncio.AbstractEventLoop,
        surroundings: Surroundings,
    ) -> None:
        self._registry = registry
        self._judge = judge
        self._slots = slots
        self._committer = committer
        self._sink = sink
        self._loop = loop
        self._in_thread = surroundings.in_thread
        self._on_loop = surroundings.on_loop
        self._redaction = Redaction(config.redact_keys)
        self._result_max_bytes = config.result_max_bytes
        self._threads: ThreadPool[Execution, Outcome] = ThreadPool(
            slots.concurrency, loop, self._run_in_thread, self._returned
        )
        self.leased = leased
        self.detached: set[Execution] = set()
        """Attempts that have ended while their handler has not returned: each still occupies its slot."""

    # --- starting

    def start(self, tasks: Sequence[Claimed]) -> None:
        """Start claimed attempts; the caller has made sure that there are slots for them."""
        now = time.monotonic()
        for claimed in tasks:
            self._start(claimed, now)

    def _start(self, claimed: Claimed, now: float) -> None:
        stale = self.leased.get(claimed.id)
        if stale is not None:  # its lease ran out while Redis was away, and this worker took it up again
            self._lose([stale])
        handler = self._registry.get(claimed.task_type)
        timeout_s = claimed.timeout_ms / 1000
        mask = PayloadMask(self._redaction, claimed.payload_json)
        context = TaskContext(
            claimed.id,
            task_type=claimed.task_type,
            attempt=claimed.attempt,
            max_attempts=claimed.max_attempts,
            queue=claimed.queue,
            timeout_s=timeout_s,
            started=now,
            sink=self._sink,
            mask=mask,
        )
        execution = Execution(claimed, handler, context, mask)
        self.leased[claimed.id] = execution
        if handler is None:
            self._end(execution, unknown_type(claimed.task_type))
            return
        self._slots.take()
        execution.timer = self._loop.call_later(timeout_s, self._timed_out, execution)
        if handler.is_async:
            execution.task = self._loop.create_task(self._run_on_loop(execution))
        else:
            self._threads.submit(execution)

    async def _run_on_loop(self, execution: Execution) -> None:
        execution.entered = True
        outcome = await self._call_on_loop(execution)
        self._returned(execution, outcome)

    async def _call_on_loop(self, execution: Execution) -> Outcome:
        handler = execution.handler
        assert handler is not None
        handled.set(execution.mask)
        try:
            payload = decode_payload(execution.claimed.payload_json)
            async with self._on_loop():
                return succeeded(await handler.function(payload, execution.context), self._result_max_bytes)
        except GeneratorExit:
            raise  # the loop is being torn down: nobody is left to take an outcome
        except BaseException as error:  # noqa: BLE001
            # SystemExit and KeyboardInterrupt too: a handler that raises them fails, its worker stays.
            return raised(error, handler, cancelled=execution.stop is not None, mask=execution.mask)

    def _run_in_thread(self, execution: Execution) -> Outcome:
        handler = execution.handler
        assert handler is not None
        before = handled.set(execution.mask)
        try:
            payload = decode_payload(execution.claimed.payload_json)
            with self._in_thread():
                return succeeded(handler.function(payload, execution.context), self._result_max_bytes)
        except BaseException as error:  # noqa: BLE001 - as above; and a thread that ended would leave its slot taken
            return raised(error, handler, cancelled=execution.context.cancelled, mask=execution.mask)
        finally:
            handled.reset(before)

    # --- ending

    def _returned(self, execution: Execution, outcome: Outcome) -> None:
        """The handler is out: its slot is free, and its outcome counts if the attempt has none yet."""
        execution.disarm()
        self._slots.release()
        if execution.ended:
            self.detached.discard(execution)
            return
        self._end(execution, self._outcome_when_stopped(execution) or outcome)

    def _end(self, execution: Execution, outcome: Outcome) -> None:
        execution.ended = True
        execution.disarm()
        word = "timed_out" if execution.stop is Stop.TIMEOUT else word_for(outcome)
        handler = execution.handler
        retry = None if handler is None else handler.retry
        self._committer.add(execution, self._judge.finish(execution.claimed, outcome, word, retry))

    def _outcome_when_stopped(self, execution: Execution) -> Outcome | None:
        if execution.stop is Stop.TIMEOUT:
            return timed_out(execution.claimed.timeout_ms)
        return None if execution.stop is None else Cancelled()

    def _detach(self, execution: Execution) -> None:
        """End the attempt for this worker's part; the handler, if it is still in there, keeps its slot."""
        execution.ended = True
        execution.disarm()
        self.detached.add(execution)

    # --- stopping

    def _timed_out(self, execution: Execution) -> None:
        if not execution.ended:
            self._stop(execution, Stop.TIMEOUT)

    def cancel(self, task_id: str) -> None:
        """Somebody wants the task stopped. Unknown and ended ones are left alone: the message may be late."""
        execution = self.leased.get(task_id)
        if execution is not None and not execution.ended and execution.stop is None:
            self._stop(execution, Stop.CANCEL)

    def lost(self, attempts: Iterable[tuple[str, int]]) -> None:
        """The leases of these (id, attempt) are somebody else's now, so whatever they bring is dropped."""
        running = [(self.leased.get(task_id), attempt) for task_id, attempt in attempts]
        # One that has ended is with the committer, and may just have been written: the store's answer will tell.
        self._lose([e for e, attempt in running if e is not None and e.claimed.attempt == attempt and not e.ended])

    def _lose(self, executions: list[Execution]) -> None:
        for execution in executions:
            del self.leased[execution.claimed.id]
            if not execution.ended:
                self._drop(execution, Stop.LOST)
        log_lost([(execution.claimed.id, execution.claimed.attempt) for execution in executions])

    def give_back_all(self) -> list[tuple[str, int]]:
        """Stop everything that runs and return what has to be given back: id and attempt. Its outcomes are dropped."""
        given = [execution for execution in self.leased.values() if not execution.ended]
        for execution in given:
            del self.leased[execution.claimed.id]
            self._drop(execution, Stop.GIVEN_BACK)
        return [(execution.claimed.id, execution.claimed.attempt) for execution in given]

    def _drop(self, execution: Execution, why: Stop) -> None:
        execution.stop = why
        execution.context.mark_cancelled()
        self._detach(execution)
        self._interrupt(execution)

    def _stop(self, execution: Execution, why: Stop) -> None:
        execution.context.mark_cancelled()
        if execution.task is None:
            if why is Stop.TIMEOUT:  # a thread cannot be interrupted: the attempt ends without it
                execution.stop = why
                self._detach(execution)
                self._end(execution, timed_out(execution.claimed.timeout_ms))
            return
        execution.stop = why
        execution.disarm()
        execution.timer = self._loop.call_later(STOP_GRACE_S, self._end_without_handler, execution)
        self._interrupt(execution)

    def _interrupt(self, execution: Execution) -> None:
        if execution.task is None:
            return
        execution.task.cancel()
        if not execution.entered:  # the coroutine is thrown away before its first line, so it will not report
            execution.entered = True
            self._returned(execution, Cancelled())

    def _end_without_handler(self, execution: Execution) -> None:
        """A coroutine was told to stop and goes on."""
        outcome = self._outcome_when_stopped(execution)
        if execution.ended or outcome is None:
            return
        claimed = execution.claimed
        log.warning("TASK_IGNORES_STOP", task_id=claimed.id, task_type=claimed.task_type, grace_s=STOP_GRACE_S)
        self._detach(execution)
        self._end(execution, outcome)
        self._interrupt(execution)

    def close(self) -> None:
        """Let idle threads end."""
        self._threads.close()

    @property
    def threads_busy(self) -> int:
        """Handlers that are in a thread now."""
        return self._threads.busy
