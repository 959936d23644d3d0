"""Who may use the API: everybody who reaches it in open local mode, else who sends the key."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import cast

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request

from tasks_app.api.errors import request_id_of
from tasks_app.conf import config
from tasks_app.domain.snapshot import Actor


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Whoever sent the request; ``name`` is what the audit shows."""

    name: str = "api"
    is_authenticated: bool = True


_CLIENT = ApiClient()


class ApiKeyAuthentication(BaseAuthentication):
    """``X-API-Key`` against ``DTQ_API_KEY``; without one set, nobody is asked. No sessions, so no CSRF."""

    def authenticate(self, request: Request) -> tuple[ApiClient, None]:
        """The client.

        Raises:
            NotAuthenticated: a key is required and none was sent.
            AuthenticationFailed: it is another one.
        """
        expected = config().api_key
        if expected:
            given = request.META.get("HTTP_X_API_KEY")
            if given is None:
                raise NotAuthenticated("Send the API key in the header X-API-Key")
            if not is_same_secret(given, expected):
                raise AuthenticationFailed("The API key is wrong")
        return _CLIENT, None

    def authenticate_header(self, request: Request) -> str:
        """What 401 answers carry as ``WWW-Authenticate``."""
        return 'ApiKey realm="dtq"'


def is_same_secret(given: str, expected: str) -> bool:
    """Compare in constant time. As bytes, because that comparison refuses text outside ASCII."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def actor_of(request: Request) -> Actor:
    """Who the audit names for this request."""
    client = cast(ApiClient, request.user)
    return Actor(name=client.name, source=request.META.get("REMOTE_ADDR", ""), request_id=request_id_of(request))
