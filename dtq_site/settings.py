"""Django's settings. What an operator sets are the ``DTQ_`` variables (docs/settings.md); this file reads them."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

from dtq_site.database import database
from dtq_site.secret_key import secret_key
from dtq_site.site import site_from_env
from tasks_app import __version__
from tasks_app.conf import config
from tasks_app.domain.config import Config
from tasks_app.domain.errors import ConfigError

BASE_DIR = Path(__file__).resolve().parent.parent

try:
    DTQ = config()
except ConfigError:
    # tasks_app.checks says what is wrong, in words; a traceback from here would hide it.
    DTQ = Config(data_dir=BASE_DIR / "var")
SITE, SITE_PROBLEMS = site_from_env(os.environ)
_database, _problems = database(os.environ.get("DATABASE_URL", ""), DTQ.data_dir)
SITE_PROBLEMS += _problems

DEBUG = SITE.debug
try:
    SECRET_KEY = SITE.secret_key or secret_key(DTQ.data_dir)
except OSError as error:
    sys.exit(f"DTQ_DATA_DIR: {DTQ.data_dir} cannot be used: {error.strerror}")
ALLOWED_HOSTS = list(SITE.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(SITE.csrf_trusted_origins)
FORCE_SCRIPT_NAME = SITE.script_name.rstrip("/") or None

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "tasks_app",
    "tasks_app.console",
    "workers",
]

MIDDLEWARE = [
    "dtq_site.request_id.RequestIdMiddleware",
    "dtq_site.content_security.PageLimitsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "dtq_site.foreign_pages.ForeignPagesMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "dtq_site.urls"
WSGI_APPLICATION = "dtq_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"dtq": "tasks_app.console.tags"},
        },
    },
]

# Users and sessions of the console; the queue itself lives in Redis.
DATABASES = {"default": _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
# Guessing: whoever sends too many wrong passwords for a name has to wait, known name or not.
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_CALLABLE = "tasks_app.console.lockout.counted_name"
AXES_LOCKOUT_CALLABLE = "tasks_app.console.lockout.locked_out"
AXES_RESET_ON_SUCCESS = True
# Attempts during the wait neither prolong it nor leave a row each.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
# A password may have been typed into the wrong field, so names are not logged either.
AXES_SENSITIVE_PARAMETERS = ["username", "old_password", "new_password", "new_password1", "new_password2"]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
] + [{"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}}]

LOGIN_URL = "console:login"
LOGIN_REDIRECT_URL = "console:overview"
LOGOUT_REDIRECT_URL = "console:login"

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
# The chart library's two files come with a Python package whose import would load numpy, so it is only located.
_uplot = importlib.util.find_spec("uplot")
_uplot_dirs = [("uplot", Path(path) / "static") for path in (_uplot.submodule_search_locations or [])] if _uplot else []
STATICFILES_DIRS = [BASE_DIR / "static", *_uplot_dirs]
STATIC_ROOT = BASE_DIR / SITE.static_dir if SITE.static_dir else DTQ.data_dir / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "dtq_site.static_storage.HashedStaticFiles"},
}
# Before anything has been collected (the tests, `manage.py check`) files are served from where they stand.
WHITENOISE_USE_FINDERS = True

# Whether a request came over TLS the web server says: it hears of it from the proxies that the settings trust.
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SITE.behind_https
_root = re.escape(f"{FORCE_SCRIPT_NAME or ''}/".lstrip("/"))
SECURE_REDIRECT_EXEMPT = [f"^{_root}{name}$" for name in ("health", "ready", "metrics")]  # asked for past the proxy
SECURE_HSTS_SECONDS = SITE.hsts_seconds if SITE.behind_https else 0
# Other names of the domain, and its place in browsers' own lists, are for its owner to decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"  # a link to the console from elsewhere finds its user
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = SITE.session_age_s
# Two deployments on one host name would overwrite each other's login otherwise.
SESSION_COOKIE_NAME = "dtq_session"
CSRF_COOKIE_NAME = "dtq_csrf"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"{FORCE_SCRIPT_NAME or ''}/"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

# The longest body that is read at all. The API has lower limits of its own, which its settings can raise up to here.
DATA_UPLOAD_MAX_MEMORY_SIZE = max(16 * 1024 * 1024, 2 * DTQ.max_payload_bytes)
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000

# The project's own views say all this themselves (tasks_app.api.base); these are the defaults for any other DRF view.
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tasks_app.api.auth.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["tasks_app.api.media.StrictJsonParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "tasks_app.api.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "dtq",
    "DESCRIPTION": "A distributed task queue on Redis Streams.",
    "VERSION": __version__,
    # 3.1 is plain JSON Schema, so the tests can hold real answers against it.
    "OAS_VERSION": "3.1.0",
    "LICENSE": {"name": "MIT"},
    "SERVERS": [{"url": FORCE_SCRIPT_NAME}] if FORCE_SCRIPT_NAME else [],
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "tasks_app.api.links.add_links",
        "tasks_app.api.links.close_requests",
        "tasks_app.api.docs.events.add_events",
        "tasks_app.api.openapi.tell_scopes",
    ],
    "SORT_OPERATIONS": False,
    "SWAGGER_UI_SETTINGS": {"persistAuthorization": True, "displayRequestDuration": True, "filter": True},
}

LOGGING_CONFIG = "tasks_app.logs.configure"
LOGGING = DTQ
