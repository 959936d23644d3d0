"""``/metrics``: the fleet for Prometheus, read from Redis at every scrape."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from tasks_app import runtime
from tasks_app.api.auth import is_same_secret
from tasks_app.api.exposition import FleetCollector
from tasks_app.conf import config
from tasks_app.domain.errors import StoreUnavailable

_BEARER = "bearer "


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """200 with the metrics; 401 without the key or the token where a key is in use; 503 while Redis cannot be read."""
    if not _may_read(request):
        answer = _text("Send DTQ_METRICS_TOKEN as a bearer token, or the API key in the header X-API-Key\n", 401)
        answer["WWW-Authenticate"] = 'Bearer realm="dtq"'
        return answer
    try:
        seen = runtime.observer().observe()
    except StoreUnavailable as error:
        return _text(f"No metrics: {error.message}\n", 503)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(FleetCollector(seen, config()))
    encode, content_type = choose_encoder(request.META.get("HTTP_ACCEPT", ""))
    return HttpResponse(encode(registry), content_type=content_type)


def _may_read(request: HttpRequest) -> bool:
    settings = config()
    if settings.open_mode:
        return True
    if is_same_secret(request.META.get("HTTP_X_API_KEY", ""), settings.api_key):
        return True
    authorization = request.META.get("HTTP_AUTHORIZATION", "")
    if not settings.metrics_token or not authorization.lower().startswith(_BEARER):
        return False
    return is_same_secret(authorization[len(_BEARER) :], settings.metrics_token)


def _text(text: str, status: int) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
