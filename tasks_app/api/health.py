"""Is this process alive, and can it do its work?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from tasks_app import runtime
from tasks_app.api.representation import encode
from tasks_app.checks import OLDEST_REDIS, is_too_old
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.live.outage import keep_out_of_djangos_log

MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that has to hold; ``detail`` says what was found."""

    name: str
    ok: bool
    detail: str


@require_safe
@never_cache
def health(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers. Redis is not asked: restarting this process would not help it."""
    return _json({"status": "ok"}, 200)


@require_safe
@never_cache
def ready(request: HttpRequest) -> HttpResponse:
    """200 when every check holds, else 503: ``{ready, checks: [{name, ok, detail}]}``."""
    checks = run_checks()
    holds = all(check.ok for check in checks)
    response = _json({"ready": holds, "checks": [asdict(check) for check in checks]}, 200 if holds else 503)
    keep_out_of_djangos_log(response)  # the probe is told
    return response


def run_checks() -> list[Check]:
    """Redis answers, takes writes, is new enough, and what waits in it can be read.

    The first that fails ends the list: the others follow from it.
    """
    done: list[Check] = []
    for name, look in (("redis", _answers), ("writable", _writable), ("version", _version), ("groups", _groups)):
        check = _run(name, look)
        done.append(check)
        if not check.ok:
            break
    return done


def _run(name: str, look: Callable[[], tuple[bool, str]]) -> Check:
    try:
        return Check(name, *look())
    except StoreUnavailable as error:
        return Check(name, False, error.message)


def _answers() -> tuple[bool, str]:
    runtime.queries().ping()
    return True, "answers"


def _writable() -> tuple[bool, str]:
    runtime.commands().probe()
    return True, "takes writes"


def _version() -> tuple[bool, str]:
    server = runtime.queries().server()
    return not is_too_old(server), f"{server.product} {server.version}, at least {OLDEST_REDIS} is needed"


def _groups() -> tuple[bool, str]:
    lanes = runtime.queries().lanes_by_group()
    if lanes.broken:
        return False, f"no stream: {', '.join(lanes.broken[:MAX_NAMED])}"
    without = f", {len(lanes.groupless)} without a group until the next claim" if lanes.groupless else ""
    return True, f"{len(lanes.grouped) + len(lanes.groupless)} lanes with waiting tasks{without}"


def _json(body: dict[str, object], status: int) -> HttpResponse:
    return HttpResponse(encode(body).encode(), status=status, content_type="application/json")
