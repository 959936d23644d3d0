"""What admins do to users."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from tasks_app import runtime
from tasks_app.console.access import actor_of
from tasks_app.console.actions.answers import Said, answer, failed, is_htmx
from tasks_app.console.actions.guarded import NEW_PASSWORD, action
from tasks_app.console.people import People
from tasks_app.domain.errors import DtqError
from tasks_app.domain.roles import Right, Role


@sensitive_post_parameters(NEW_PASSWORD)
@action(Right.MANAGE_ACCESS, destroys=True)
def add_user(request: HttpRequest) -> HttpResponse:
    """A new user. Form: ``name``, ``role``, ``new_password``.

    Without the last, the form has yet to be filled in: an unarmed session gets to see it by being armed.
    """
    if NEW_PASSWORD not in request.POST:
        page = reverse("console:users")
        return HttpResponse(headers={"HX-Redirect": page}) if is_htmx(request) else HttpResponseRedirect(page)
    name = request.POST.get("name", "").strip()
    try:
        role = Role(request.POST.get("role", ""))
        _people(request).add(name, role, request.POST[NEW_PASSWORD])
    except ValueError:
        return answer(request, Said("That is not a role.", "red", 400))
    except DtqError as error:
        return answer(request, failed(error))
    return answer(request, Said(f"{name} may sign in now, as {role}.", status=200))


@action(Right.MANAGE_ACCESS, destroys=True)
def change_user(request: HttpRequest, user_id: int) -> HttpResponse:
    """Another role, or none of the ways in. Form: ``to``, a role, ``disabled`` or ``enabled``."""
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        raise Http404
    if user == request.user or user.is_superuser:
        who = "Your own user" if user == request.user else "A superuser"
        return answer(request, Said(f"{who} is changed on the server only: manage.py createoperator.", "amber", 409))
    people = _people(request)
    name = user.get_username()
    changes: dict[str, tuple[Callable[[], None], str]] = {
        "disabled": (partial(people.set_active, user, False), f"{name} may not sign in any more."),
        "enabled": (partial(people.set_active, user, True), f"{name} may sign in again."),
        **{role.value: (partial(people.set_role, user, role), f"{name} is {role} now.") for role in Role},
    }
    change = changes.get(request.POST.get("to", ""))
    if change is None:
        return answer(request, Said("That is not a change of a user.", "red", 400))
    step, done = change
    try:
        step()
    except DtqError as error:
        return answer(request, failed(error))
    return answer(request, Said(done, status=200))


def _people(request: HttpRequest) -> People:
    return People(runtime.audit(), actor_of(request))
