"""Who may use the API: everybody who reaches it in open local mode, else who sends a key (docs/access.md)."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import cast

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from tasks_app import runtime
from tasks_app.api.errors import request_id_of
from tasks_app.conf import config
from tasks_app.domain.api_key import EVERYWHERE, Reach, Scope, allows
from tasks_app.domain.errors import KeyRefused, NotPermitted
from tasks_app.domain.snapshot import Actor


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Whoever sent the request; ``name`` is what the audit shows. As it stands: who may do everything."""

    name: str = "api"
    scopes: frozenset[Scope] = frozenset(Scope)
    reach: Reach = EVERYWHERE
    is_authenticated: bool = True

    def require(self, scope: Scope, *, everywhere: bool = False) -> None:
        """Refuse what the key is not good for.

        Args:
            scope: what is asked for.
            everywhere: it concerns all queues together.

        Raises:
            NotPermitted: the key lacks the scope, or is for some queues only.
        """
        if not allows(self.scopes, scope):
            raise NotPermitted(f"This needs an API key with the scope {scope}")
        if everywhere and not self.reach.everywhere:
            raise NotPermitted("This concerns every queue, and the API key is for some")


_ALMIGHTY = ApiClient()


class ApiKeyAuthentication(BaseAuthentication):
    """``X-API-Key``, where keys are asked for. No sessions, so no CSRF."""

    def authenticate(self, request: Request) -> tuple[ApiClient, None]:
        """The client.

        Raises:
            AuthenticationFailed: a key is required, and none was sent or one that is not good.
            RateLimited: it is used too often.
        """
        try:
            return admit(request.META.get("HTTP_X_API_KEY")), None
        except KeyRefused as error:
            raise AuthenticationFailed(error.message) from error

    def authenticate_header(self, request: Request) -> str:
        """What 401 answers carry as ``WWW-Authenticate``."""
        return 'ApiKey realm="dtq"'


def admit(given: str | None, cost: int = 1) -> ApiClient:
    """The client that sent ``given`` as its key. ``DTQ_API_KEY`` costs no round trip, any other key one.

    Args:
        given: the header, ``None`` without one.
        cost: how many requests this counts as.

    Raises:
        KeyRefused: a key is required, and none was sent or one that is not good.
        RateLimited: it is used too often.
        StoreUnavailable: Redis cannot say.
    """
    expected = config().api_key
    if expected:
        if given is not None and is_same_secret(given, expected):
            return _ALMIGHTY
    elif runtime.open_mode():
        return _ALMIGHTY
    if given is None:
        raise KeyRefused("Send the API key in the header X-API-Key")
    holder = runtime.api_keys().admit(given, cost)
    return ApiClient(f"key:{holder.name}", holder.scopes, holder.reach)


def is_same_secret(given: str, expected: str) -> bool:
    """Compare in constant time. As bytes, because that comparison refuses text outside ASCII."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def client_of(request: Request) -> ApiClient:
    """Who sent this request."""
    return cast(ApiClient, request.user)


def actor_of(request: Request) -> Actor:
    """Who the audit names for this request."""
    source = request.META.get("REMOTE_ADDR", "")
    return Actor(name=client_of(request).name, source=source, request_id=request_id_of(request))
