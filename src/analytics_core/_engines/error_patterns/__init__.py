"""What drivers' messages mean, engine by engine (contract, section Errors).

Where a driver tells a code, that decides (PostgreSQL, MariaDB); else patterns begin at the start of a message, or after
its fixed beginning: further on it may quote a user's text, or the value of a row.
Only names pass into templates: tables, columns, schemas, functions, hosts, ports, users.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from analytics_core._engines.error_patterns.listed import (
    BIGQUERY,
    CLICKHOUSE,
    DATABRICKS,
    DRUID,
    MSSQL,
    ORACLE,
    REDSHIFT,
    SNOWFLAKE,
    TRINO,
)  # fmt: skip
from analytics_core._engines.error_patterns.tried import DUCKDB, MYSQL, POSTGRESQL, SQLITE
from analytics_core._engines.spec import ErrorPattern

ERROR_PATTERNS: Mapping[str, tuple[ErrorPattern, ...]] = MappingProxyType(
    {
        "sqlite": SQLITE,
        "duckdb": DUCKDB,
        "postgresql": POSTGRESQL,
        "mysql": MYSQL,
        "redshift": REDSHIFT,
        "clickhouse": CLICKHOUSE,
        "trino": TRINO,
        "presto": TRINO,
        "bigquery": BIGQUERY,
        "snowflake": SNOWFLAKE,
        "databricks": DATABRICKS,
        "spark": DATABRICKS,
        "mssql": MSSQL,
        "oracle": ORACLE,
        "druid": DRUID,
    }
)
"""Engine name -> patterns, tried in order."""
