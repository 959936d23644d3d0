"""Every path of the site."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from tasks_app.api.health import health, ready
from tasks_app.api.metrics import metrics

READ = ["get", "head"]

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("tasks_app.api.urls")),
    path("api/schema/", SpectacularAPIView.as_view(http_method_names=READ), name="api-schema"),
    path(
        "api/docs/",
        SpectacularSwaggerSplitView.as_view(url_name="api-schema", http_method_names=READ),
        name="api-docs",
    ),
    path("health", health, name="health"),
    path("ready", ready, name="ready"),
    path("metrics", metrics, name="metrics"),
    path("", include("tasks_app.console.urls")),
]

handler400 = "tasks_app.console.refused.malformed"
handler403 = "tasks_app.console.refused.refused"
