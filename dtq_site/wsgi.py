"""The site as a WSGI application. It serves everything but event streams, which ``dtq_site.asgi`` answers."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dtq_site.settings")

application = get_wsgi_application()
