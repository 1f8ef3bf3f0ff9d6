"""Buckets of engines that cannot be run here: their SQL, read by sqlglot, runs on DuckDB and gives the reference's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest
import sqlalchemy as sa
import sqlglot
from tests.support.cases import for_each
from tests.support.engine_bench import column, open_bench
from tests.support.time_reference import awkward_moments, reference_bucket

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat
from analytics_core.models.enums import TimeGrain

MOMENTS = awkward_moments(random_count=150)
READ_BY_SQLGLOT = ("trino", "presto", "bigquery", "snowflake", "redshift", "databricks", "spark", "mssql")
MACROS = (
    "CREATE MACRO timestamp_seconds(s) AS make_timestamp(s * 1000000)",
    "CREATE MACRO pmod(a, b) AS ((a % b) + b) % b",
)


@pytest.fixture(scope="module")
def duckdb() -> Iterator[sa.Connection]:
    engine = sa.create_engine("duckdb:///:memory:")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE v (id INTEGER, ts TIMESTAMP)")
        for i, moment in enumerate(MOMENTS):
            connection.exec_driver_sql("INSERT INTO v VALUES ($1, $2)", (i, moment))
        for macro in MACROS:
            connection.exec_driver_sql(macro)
        yield connection
    engine.dispose()


@pytest.mark.slow
@for_each("name", READ_BY_SQLGLOT)
def test_buckets_translated_to_duckdb_are_the_reference_buckets(duckdb: sa.Connection, name: str) -> None:
    spec = installed_engines(()).get(name)
    plain = TimeFormat(encoding=TimeEncoding.TIMESTAMP)
    buckets = [spec.bucket(spec.moment(column("ts"), plain), grain).sql(spec.dialect) for grain in TimeGrain]
    translated = [sqlglot.transpile(bucket, read=spec.dialect, write="duckdb")[0] for bucket in buckets]
    listed = ", ".join(f"CAST({bucket} AS TIMESTAMP)" for bucket in translated)
    rows = duckdb.exec_driver_sql(f"SELECT {listed} FROM v ORDER BY id").fetchall()
    assert differences(rows) == []


@pytest.mark.server
def test_buckets_of_redshift_run_on_postgresql(request: pytest.FixtureRequest) -> None:
    spec = installed_engines(()).get("redshift")
    with open_bench("postgresql", request) as bench:
        bench.create("v", {"id": "INTEGER", "ts": "TIMESTAMP"}, list(enumerate(MOMENTS)))
        rows = bench.select("v", [spec.bucket(column("ts"), grain) for grain in TimeGrain], order=column("id"))
    assert differences(rows) == []


def differences(rows: list[tuple[datetime, ...]]) -> list[tuple[datetime, str, datetime]]:
    return [
        (moment, grain.value, value)
        for moment, row in zip(MOMENTS, rows, strict=True)
        for grain, value in zip(TimeGrain, row, strict=True)
        if value != reference_bucket(moment, grain)
    ]
