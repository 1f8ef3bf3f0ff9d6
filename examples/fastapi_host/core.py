"""The core of the deployed service, by its environment; web processes, workers and `tick` all make it here.

    python -m analytics_core migrate
    python -m analytics_core worker --core fastapi_host.core:make_core
    python -m analytics_core tick --core fastapi_host.core:make_core

`ANALYTICS_CORE_STORE`, `ANALYTICS_CORE_BROKER`, `ANALYTICS_CORE_SECRET_KEY` and all others of the library are those of
docs/reference/command-line.md; `HOST_REDIS` is the server of cache and locks. Nothing has a default that would start a
service without them.
"""

import os
from collections.abc import Mapping

from analytics_core import AnalyticsCore, Settings
from analytics_core.celery import CeleryJobRunner
from analytics_core.errors import SettingsError
from analytics_core.notifiers import notifiers_from_env
from analytics_core.redis import RedisCache, RedisLock

STORE, BROKER, REDIS = "ANALYTICS_CORE_STORE", "ANALYTICS_CORE_BROKER", "HOST_REDIS"


def make_core(environ: Mapping[str, str] = os.environ) -> AnalyticsCore:
    """Return the core of this process; `SettingsError` names the variable that is missing or wrong."""
    return AnalyticsCore(
        Settings.from_env(environ),
        metadata_url=_required(environ, STORE),
        cache=RedisCache(_required(environ, REDIS)),
        lock=RedisLock(_required(environ, REDIS)),
        jobs=CeleryJobRunner(_required(environ, BROKER)),
        notifiers=notifiers_from_env(environ),
    )


def _required(environ: Mapping[str, str], name: str) -> str:
    if not environ.get(name):
        raise SettingsError(f"the variable {name} is missing")
    return environ[name]
