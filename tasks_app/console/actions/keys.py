"""What admins do to API keys."""

from __future__ import annotations

import secrets

from django.http import HttpRequest, HttpResponse

from tasks_app import runtime
from tasks_app.console.access import actor_of
from tasks_app.console.actions.answers import Said, answer, ask, failed
from tasks_app.console.actions.guarded import action
from tasks_app.domain.api_key import parse_grant
from tasks_app.domain.errors import DtqError
from tasks_app.domain.roles import Right

MADE = 201


@action(Right.MANAGE_ACCESS, destroys=True)
def make_key(request: HttpRequest) -> HttpResponse:
    """A new key. Form: ``name``, ``scope`` (several), ``queues`` (separated by spaces or commas), ``rate``, ``lasts``.

    The answer is the one place where its secret is ever shown: no message, session or log has it.
    """
    form = request.POST
    name, queues = form.get("name", "").strip(), form.get("queues", "").replace(",", " ").split()
    try:
        grant = parse_grant(name, form.getlist("scope"), queues, form.get("rate", "").strip(), form.get("lasts", ""))
        secret = runtime.api_keys().grant(grant, actor_of(request))
    except DtqError as error:
        return answer(request, failed(error))
    return ask(
        request, "components/key_made.html", {"key": secrets.token_hex(8), "grant": grant, "secret": secret}, MADE
    )


@action(Right.MANAGE_ACCESS, destroys=True)
def revoke_key(request: HttpRequest, name: str) -> HttpResponse:
    """No request with this key is taken any more."""
    try:
        runtime.api_keys().revoke(name, actor_of(request))
    except DtqError as error:
        return answer(request, failed(error))
    return answer(
        request, Said(f"The key {name} is revoked: whoever still uses it is refused from now on.", status=200)
    )
