"""Keeps pages of other sites from using the API through the browser of somebody who can reach it.

A page anywhere may send a request without a body to this machine, and open local mode asks nobody for a key.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from dtq_site.request_id import API_ROOT
from tasks_app.api.errors import plain_response

SAFE_METHODS = frozenset({"GET", "HEAD"})


class ForeignPagesMiddleware:
    """Refuses what would change something, where the browser says that another site's page sends it.

    The console needs none of this: its forms carry a token.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The inner answer, or 403."""
        if request.method not in SAFE_METHODS and request.path_info.startswith(API_ROOT) and _is_foreign(request):
            return plain_response(request, 403)
        return self._get_response(request)


def _is_foreign(request: HttpRequest) -> bool:
    # Browsers send it with every POST; other clients have no reason to.
    origin = request.META.get("HTTP_ORIGIN")
    if origin is None or origin in settings.CSRF_TRUSTED_ORIGINS:
        return False
    return bool(urlsplit(origin).netloc != request.META.get("HTTP_HOST"))
