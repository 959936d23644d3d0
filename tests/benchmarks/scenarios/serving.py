"""Submission over HTTP: two web processes of ``runweb`` in open mode, and a load generator of one thread.

Server, web processes and generator share the machine's cores.
"""

from __future__ import annotations

import json

from tasks_app.domain.api_key import parse_grant
from tasks_app.domain.snapshot import Actor
from tasks_app.store.api_keys import ApiKeys
from tests.benchmarks.figures import Figures
from tests.benchmarks.load import Answers, post
from tests.benchmarks.stage import Stage

ONE = json.dumps({"task_type": "noop", "payload": {"to": "someone@example.org", "amount": 12}}).encode()
MANY = json.dumps({"tasks": [{"task_type": "noop", "payload": {"n": n}} for n in range(500)]}).encode()
CONNECTIONS = 32
BULK_CONNECTIONS = 8
SECONDS = 5.0
WARM_UP_S = 1.0


def single(stage: Stage) -> Figures:
    """``POST /api/v1/tasks`` on 32 connections for five seconds: accepted tasks a second, and how long each took."""
    with stage.web(2) as port:
        return _accepted(_singles(port))


def single_with_the_key(stage: Stage) -> Figures:
    """The same with ``DTQ_API_KEY``, which is compared in the process."""
    with stage.web(2, DTQ_API_KEY="almighty") as port:
        return _accepted(_singles(port, "almighty"))


def single_with_a_named_key(stage: Stage) -> Figures:
    """The same with a named key for one queue and with a rate: one more call of Redis a request, which writes."""
    grant = parse_grant("bench", ["submit"], ["default"], "100000")
    secret = ApiKeys(stage.client, stage.config).grant(grant, Actor("bench"))
    with stage.web(2, DTQ_API_KEY="almighty") as port:
        return _accepted(_singles(port, secret))


def single_while_draining(stage: Stage) -> Figures:
    """The same while one worker process runs what comes in."""
    with stage.workers(1, 200), stage.web(2) as port:
        return _accepted(_singles(port))


def bulk(stage: Stage) -> Figures:
    """``POST /api/v1/tasks/bulk`` with 500 tasks a request on 8 connections for five seconds."""
    with stage.web(2) as port:
        post(port, "/api/v1/tasks/bulk", MANY, connections=BULK_CONNECTIONS, seconds=WARM_UP_S)
        answers = post(port, "/api/v1/tasks/bulk", MANY, connections=BULK_CONNECTIONS, seconds=SECONDS)
    _only(answers, 200)
    return {
        "tasks_per_s": answers.per_s(200) * 500,
        "p50_ms": answers.quantile_ms(200, 50),
        "p99_ms": answers.quantile_ms(200, 99),
    }


def past_saturation(stage: Stage) -> Figures:
    """Singles into a queue that holds 5,000 tasks and that nobody drains: from full on, every answer is a 429."""
    with stage.web(2, DTQ_MAX_QUEUE_DEPTH="5000") as port:
        post(port, "/api/v1/tasks", ONE, connections=CONNECTIONS, seconds=60, most=5_200)
        depth = sum(stage.queries.counts("default").values())
        answers = post(port, "/api/v1/tasks", ONE, connections=CONNECTIONS, seconds=SECONDS)
    _only(answers, 429)
    return {
        "depth": depth,
        "refused_per_s": answers.per_s(429),
        "p50_ms": answers.quantile_ms(429, 50),
        "p99_ms": answers.quantile_ms(429, 99),
    }


def _singles(port: int, secret: str = "") -> Answers:
    post(port, "/api/v1/tasks", ONE, connections=CONNECTIONS, seconds=WARM_UP_S, secret=secret)
    return post(port, "/api/v1/tasks", ONE, connections=CONNECTIONS, seconds=SECONDS, secret=secret)


def _accepted(answers: Answers) -> Figures:
    _only(answers, 202)
    return {
        "tasks_per_s": answers.per_s(202),
        "p50_ms": answers.quantile_ms(202, 50),
        "p99_ms": answers.quantile_ms(202, 99),
    }


def _only(answers: Answers, status: int) -> None:
    if set(answers.statuses) != {status}:
        raise RuntimeError(f"Expected only {status}, got {dict(answers.statuses)}")
