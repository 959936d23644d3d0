"""The search box."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from tasks_app.console.doors import seen_by_users
from tasks_app.console.filters import parse_search
from tasks_app.console.replies import error_page
from tasks_app.domain.errors import StoreUnavailable, ValidationError
from tasks_app.runtime import queries


@seen_by_users
def search(request: HttpRequest) -> HttpResponse:
    """Send the id of a task to its page, anything else to the list it describes; 400 when it describes none."""
    text = request.GET.get("q", "")
    tasks = reverse("console:tasks")
    try:
        found = parse_search(text)
    except ValidationError as error:
        return error_page(request, error, "That search does not make sense", "Mend it in the box above.")
    try:
        is_task = bool(found.task_id and queries().rows([found.task_id]))
    except StoreUnavailable as error:
        return error_page(request, error)
    if is_task:
        return redirect("console:task", task_id=found.task_id)
    return redirect(f"{tasks}?{urlencode(found.params)}" if found.params else tasks)
