"""Django settings. Everything that varies comes from `m31a_site.environment`."""

from __future__ import annotations

from typing import Any

from m31a_site import data, environment, postgres

BASE_DIR = environment.ROOT
M31A: Any = environment

SECRET_KEY = data.secret_key(environment.DATA_DIR)
DEBUG = False
LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]
ALLOWED_HOSTS = [*environment.ALLOWED_HOSTS, *LOOPBACK]

# Not daphne: as an application it would load Twisted into every process, and only the web
# server (`runtime.worker.entry.web`) needs it.
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "django_q",
    "axes",
    "csp",
    "runtime",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "m31a_site.urls"
ASGI_APPLICATION = "m31a_site.asgi.application"
CHANNEL_LAYERS: dict[str, Any] = {}
"""No layer: rows are the stream, and a consumer without a layer polls nothing."""

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["django.template.loaders.filesystem.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "runtime.web.context.site",
            ],
        },
    }
]


def _databases() -> dict[str, Any]:
    seconds = 20 if environment.ROLE in {"worker", "reconciler"} else 5
    if environment.DATABASE_URL:
        url, role = environment.DATABASE_URL, environment.ROLE
        return {"default": postgres.configuration(url, role, seconds, environment.LEASE_SECONDS)}
    return {
        "default": {
            "ENGINE": "m31a_site.sqlite",
            "NAME": str(environment.DATA_DIR / "m31a.sqlite3"),
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                "timeout": seconds,
                "transaction_mode": "IMMEDIATE",
                "init_command": (
                    "PRAGMA synchronous=FULL;"
                    "PRAGMA temp_store=MEMORY;"
                    "PRAGMA mmap_size=134217728;"
                    "PRAGMA cache_size=-16000;"
                    "PRAGMA journal_size_limit=67108864"
                ),
            },
        }
    }


DATABASES = _databases()
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "runtime.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25
AXES_LOCKOUT_TEMPLATE = "login/locked.html"

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "runs"
LOGOUT_REDIRECT_URL = "login"

SESSION_COOKIE_AGE = 8 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Strict"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

# One switch: without it the product is served on loopback only (`m31a_site.checks`).
SESSION_COOKIE_SECURE = environment.HTTPS
CSRF_COOKIE_SECURE = environment.HTTPS
SECURE_SSL_REDIRECT = environment.HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if environment.HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = environment.HTTPS
SECURE_HSTS_PRELOAD = environment.HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if environment.HTTPS else None
SILENCED_SYSTEM_CHECKS = (
    []
    if environment.HTTPS
    else ["security.W004", "security.W008", "security.W012", "security.W016"]
)

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "font-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
}

STATIC_URL = "/static/"
STATIC_ROOT = environment.DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

Q_CLUSTER = {
    "name": "m31a",
    "orm": "default",
    "workers": environment.WORKERS,
    "queue_limit": 1,
    "bulk": 1,
    "poll": 0.1,
    "timeout": 1000,
    "retry": 1200,
    "max_attempts": 1,
    "ack_failures": True,
    "save_limit": -1,
    "recycle": 50,
    "guard_cycle": 0.5,
    "scheduler": False,
    "catch_up": False,
    "cache": "default",
    "label": "M31A",
    "log_level": "WARNING",
}

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
LANGUAGE_CODE = "en"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}
