"""The site as an ASGI application: a small front that answers event streams itself and hands the rest to Django.

Django's own ASGI handler serves this site at less than half the rate of its WSGI handler
(docs/decisions/0002-web-server.md), and a WSGI server would spend a thread on every open event stream. So the front
runs Django's WSGI application in threads, and only what is listed in ``ASYNC_APPS`` stays on the event loop.
"""

from __future__ import annotations

from django.conf import settings

from dtq_site.bridge import WsgiBridge
from dtq_site.front import Front
from dtq_site.streams import ASYNC_APPS, end_with_the_process
from dtq_site.wsgi import application as django_application

application = Front(
    ASYNC_APPS,
    WsgiBridge(django_application, threads=settings.SITE.threads, max_body_bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE),
    settings.FORCE_SCRIPT_NAME or "",
    on_startup=end_with_the_process,
    allowed_hosts=settings.ALLOWED_HOSTS,
)
