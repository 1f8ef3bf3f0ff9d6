"""Presto, from which Trino comes: other timestamps, and another driver.

Not run here; written from the documentation.
"""

from __future__ import annotations

from dataclasses import replace

from analytics_core._engine.engines import guards
from analytics_core._engine.engines.spec import ConnectionParameters, TrustedAuthorities
from analytics_core._engine.engines.specs import trino

ENGINES = (
    replace(
        trino.engine("presto", "Presto", trino.moment_with((), "FROM_ISO8601_TIMESTAMP")),
        guards=replace(
            trino.GUARDS,
            uri_options=guards.uri_options("source", protocol="http https"),
        ),
        parameters=ConnectionParameters.encrypted_by("protocol", "https"),
        authorities=TrustedAuthorities.given_by(("requests_kwargs", "verify"), protocol="https"),
    ),
)
