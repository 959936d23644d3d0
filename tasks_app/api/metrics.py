"""``/metrics``: the fleet for Prometheus, read from Redis at every scrape."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from tasks_app import runtime
from tasks_app.api.auth import admit, is_same_secret
from tasks_app.api.errors import seconds_until
from tasks_app.api.exposition import FleetCollector
from tasks_app.conf import config
from tasks_app.domain.api_key import Scope
from tasks_app.domain.errors import KeyRefused, NotPermitted, RateLimited, StoreUnavailable
from tasks_app.live.outage import keep_out_of_djangos_log, outage_log

_BEARER = "bearer "


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """200 with the metrics. Where keys are in use it takes the token, or a key that reads everything.

    401 without either, 403 for a key that is good for less, 429 for one that is used too often, 503 while Redis cannot
    be read.
    """
    try:
        if not _has_token(request):
            admit(request.META.get("HTTP_X_API_KEY")).require(Scope.READ, everywhere=True)
        seen = runtime.observer().observe()
    except KeyRefused:
        answer = _text("Send DTQ_METRICS_TOKEN as a bearer token, or an API key in the header X-API-Key\n", 401)
        answer["WWW-Authenticate"] = 'Bearer realm="dtq"'
        return answer
    except NotPermitted as error:
        return _text(f"{error.message}\n", 403)
    except RateLimited as error:
        answer = _text(f"{error.message}\n", 429)
        answer["Retry-After"] = str(seconds_until(error))
        return answer
    except StoreUnavailable as error:
        outage_log.refused(request.path, error)
        response = _text(f"No metrics: {error.message}\n", 503)
        keep_out_of_djangos_log(response)
        return response
    registry = CollectorRegistry(auto_describe=False)
    registry.register(FleetCollector(seen, config()))
    encode, content_type = choose_encoder(request.META.get("HTTP_ACCEPT", ""))
    return HttpResponse(encode(registry), content_type=content_type)


def _has_token(request: HttpRequest) -> bool:
    token = config().metrics_token
    authorization = request.META.get("HTTP_AUTHORIZATION", "")
    if not token or not authorization.lower().startswith(_BEARER):
        return False
    return is_same_secret(authorization[len(_BEARER) :], token)


def _text(text: str, status: int) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
