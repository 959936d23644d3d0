"""What is shown to whoever asks for more than their role allows, or for nothing that makes sense."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import permission_denied

from tasks_app.console.access import rights_of
from tasks_app.console.actions.answers import Said, answer, is_htmx
from tasks_app.console.frame import frame_context

BAD_REQUEST = 400
FORBIDDEN = 403


def malformed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400. Django's own answer looks for a token in the very form that could not be read, and fails once more."""
    return HttpResponse(render_to_string("400.html"), status=BAD_REQUEST)


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: in the frame, as a message on the page for htmx, bare for whoever may see no frame."""
    text = str(exception)
    if is_htmx(request):
        return answer(request, Said(text, "red", FORBIDDEN))
    if not rights_of(request):
        return permission_denied(request, exception)
    context = {
        **frame_context(request),
        "heading": "Not for your role",
        "message": text,
        "advice": "Nothing was done.",
        "status": FORBIDDEN,
    }
    return HttpResponse(render_to_string("console/error.html", context, request), status=FORBIDDEN)
