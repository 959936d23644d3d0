"""What a page of this site may load and use: its own files, nothing that stands inside the page, no device.

And who may keep what it says: nobody.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
PERMISSIONS = ", ".join(
    f"{name}=()"
    for name in (
        "accelerometer",
        "autoplay",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "usb",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Permissions-Policy": PERMISSIONS,
    "Cross-Origin-Resource-Policy": "same-origin",
    # A shared cache takes X-API-Key for any header, and would hand a task to the next who asks for its address.
    "Cache-Control": "no-store",
}


class PageLimitsMiddleware:
    """Sends ``HEADERS`` with every answer that has none of its own.

    The policy needs no nonce and knows no exception, so a constant header does; a library that builds it anew for
    each answer took a tenth of the time of a submit.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The inner answer with the headers added."""
        response = self._get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response
