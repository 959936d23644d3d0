"""The load: producers over HTTP and through the library, rivals for one idempotency key, and an operator."""

from __future__ import annotations

import heapq
import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from tasks_app import runtime
from tasks_app.domain.errors import DtqError, IdempotencyInProgress, StoreUnavailable, WrongStatus
from tasks_app.domain.snapshot import Actor
from tests.soak.book import Book
from tests.soak.kinds import KINDS, Fields, pick, submission
from tests.soak.tasks import cure

HTTP_TIMEOUT_S = 15.0
BULK = 10
AGAIN_S = 0.5
Answer = tuple[int, dict[str, Any]]
LOST: Answer = (0, {})
LONGEST_BACKLOG_S = 2.0
"""What a producer has not sent while nobody answered is not made up for beyond this."""
OPERATOR = Actor("soak", "127.0.0.1")


class Caller:
    """One keep-alive connection to the API. Not safe from several threads."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HTTP_TIMEOUT_S)

    def post(self, path: str, body: object = None, key: str = "") -> Answer:
        """Status and body; ``LOST`` when no answer came."""
        headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        text = None if body is None else json.dumps(body)
        try:
            self._connection.request("POST", f"/api/v1{path}", text, headers if text else {})
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return LOST


Step = Callable[[random.Random, Caller], None]


class Load:
    """About ``rate`` tasks a second from start to ``stop``; what goes wrong in a thread is kept in ``failures``."""

    def __init__(self, book: Book, port: int, folder: Path, rate: float, seed: int) -> None:
        self._book, self._port, self._folder, self._seed = book, port, folder, seed
        self._serials = count(1)
        self._cancels: list[tuple[float, str]] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._done = threading.Event()
        self._idle = threading.Event()  # never set: what the canceller waits at
        self.failures: list[Exception] = []
        share = rate / 4
        loops: list[tuple[str, Step, float]] = [
            ("http 1", self._over_http, share),
            ("http 2", self._over_http, share),
            ("bulk", self._in_bulk, share / BULK),
            ("library", self._through_library, share),
            *((name, partial(self._rare, name), 1 / kind.each_s) for name, kind in KINDS.items() if kind.each_s),
        ]
        self._producers = [
            threading.Thread(target=self._guarded, args=(partial(self._paced, *loop),), name=loop[0], daemon=True)
            for loop in loops
        ]
        self._canceller = threading.Thread(
            target=self._guarded, args=(self._cancel_all,), name="canceller", daemon=True
        )

    def start(self) -> None:
        """Begin."""
        for thread in (*self._producers, self._canceller):
            thread.start()

    def stop(self) -> None:
        """Submit nothing more. Cancelling goes on until ``close``."""
        self._stop.set()
        for thread in self._producers:
            thread.join(60)

    def close(self) -> None:
        """Returns when all that was to be cancelled has been."""
        self._done.set()
        self._canceller.join(60)

    # --- producers

    def _over_http(self, rng: random.Random, caller: Caller) -> None:
        kind, serial, fields = self._next(rng)
        since = time.time()
        self._enter(kind, serial, fields, since, caller.post("/tasks", fields))

    def _in_bulk(self, rng: random.Random, caller: Caller) -> None:
        made = [self._next(rng) for _ in range(BULK)]
        since = time.time()
        status, body = caller.post("/tasks/bulk", {"tasks": [fields for _, _, fields in made]})
        items = body["items"] if status == 200 else [None] * BULK
        for (kind, serial, fields), item in zip(made, items, strict=True):
            answer = (item["status"], item.get("task") or item) if item else (status, {})
            self._enter(kind, serial, fields, since, answer)

    def _through_library(self, rng: random.Random, caller: Caller) -> None:
        kind, serial, fields = self._next(rng)
        since = time.time()
        self._enter(kind, serial, fields, since, _submit(fields))

    def _rare(self, kind: str, rng: random.Random, caller: Caller) -> None:
        serial = next(self._serials)
        fields = submission(kind, serial, rng)
        if KINDS[kind].keyed:
            self._rivals(kind, serial, fields)
        else:
            since = time.time()
            self._enter(kind, serial, fields, since, caller.post("/tasks", fields))

    def _rivals(self, kind: str, serial: int, fields: Fields) -> None:
        """Three submit the same with one key at once, and again until each has an answer: one task must come of it."""
        key = f"order-{serial}"

        def over_http() -> Answer:
            return self._insist(lambda: Caller(self._port).post("/tasks", fields, key))

        def through_library() -> Answer:
            return self._insist(lambda: _submit({**fields, "idempotency_key": key}))

        with ThreadPoolExecutor(3) as pool:
            calls = [pool.submit(call) for call in (over_http, over_http, through_library)]
            answers = [call.result() for call in calls]
        ids = {body.get("id") or body["details"]["task_id"] for _, body in answers}
        if len(ids) != 1 or sum(status == 202 for status, _ in answers) > 1:
            self._book.dispute(f"key {key}: {answers}")
        for status, _ in answers:
            self._book.note(f"rival {status}")
        for task_id in ids:
            self._book.accept(task_id, kind)

    def _insist(self, call: Callable[[], Answer]) -> Answer:
        while (answer := call())[0] in {0, 503}:
            self._book.note(f"rival {answer[0]}, tried again")
            self._done.wait(AGAIN_S)
        return answer

    def _next(self, rng: random.Random) -> tuple[str, int, Fields]:
        kind, serial = pick(rng), next(self._serials)
        return kind, serial, submission(kind, serial, rng)

    def _enter(self, kind: str, serial: int, fields: Fields, since: float, answer: Answer) -> None:
        status, body = answer
        self._book.note(f"submit {status}")
        if status == 202:
            delay_s = fields.get("delay_seconds", 0)
            self._book.accept(body["id"], kind, since + delay_s if delay_s else 0.0)
            self.cancel_later(body["id"], kind)
        elif status in {0, 503}:
            self._book.lose_answer(serial, kind, since)
        else:
            self._book.dispute(f"submit of {kind!r} answered {status}: {body}")

    def _paced(self, name: str, step: Step, rate: float) -> None:
        rng, caller, due = random.Random(f"{self._seed} {name}"), Caller(self._port), time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            step(rng, caller)
            due = max(due + 1 / rate, time.monotonic() - LONGEST_BACKLOG_S)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - raised again by whoever waits for the soak's end
            self.failures.append(error)

    # --- operators

    def cancel_later(self, task_id: str, kind: str) -> None:
        """Cancel the task in a while, if its kind wants it."""
        if (after_s := KINDS[kind].cancel_after_s) is not None:
            self._plan_cancel(time.monotonic() + after_s, task_id)

    def _plan_cancel(self, at: float, task_id: str) -> None:
        with self._lock:
            heapq.heappush(self._cancels, (at, task_id))

    def _cancel_all(self) -> None:
        caller = Caller(self._port)
        while not (self._done.is_set() and not self._cancels):
            with self._lock:
                due = bool(self._cancels) and self._cancels[0][0] <= time.monotonic()
                task_id = heapq.heappop(self._cancels)[1] if due else ""
            if not task_id:
                self._idle.wait(0.05)
                continue
            status, body = caller.post(f"/tasks/{task_id}/cancel")
            self._book.note(f"cancel {status} {body.get('code', '')}".strip())
            if status in {0, 503}:
                self._plan_cancel(time.monotonic() + AGAIN_S, task_id)
            elif status not in {202, 409, 410}:
                self._book.dispute(f"cancel of {task_id} answered {status}: {body}")

    def requeue(self, task_id: str) -> None:
        """Repair what the task died of, and requeue it over HTTP or through the library."""
        cure(self._folder, task_id).touch()
        if int(task_id[-1], 16) % 2:
            status, body = Caller(self._port).post(f"/dlq/{task_id}/requeue")
            self._book.note(f"requeue {status}")
            if status not in {0, 200, 202, 409, 503}:
                self._book.dispute(f"requeue of {task_id} answered {status}: {body}")
            return
        try:
            runtime.commands().dlq_requeue(task_id, OPERATOR)
            self._book.note("requeue through the library")
        except WrongStatus:  # it was back already: the answer to the first request was lost
            self._book.note("requeue through the library, WRONG_STATUS")


def _submit(fields: Fields) -> Answer:
    """Submit through the library; the answer as HTTP would give it."""
    options = {name: value for name, value in fields.items() if name not in {"task_type", "payload"}}
    try:
        receipt = runtime.submit_task(fields["task_type"], fields["payload"], **options)
    except StoreUnavailable:
        return 503, {}
    except IdempotencyInProgress as error:
        return 409, {"details": error.details}
    except DtqError as error:
        return 500, {"error": repr(error)}
    return 200 if receipt.duplicate else 202, {"id": receipt.task.id}
