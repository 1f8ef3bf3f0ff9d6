"""What `pip install analytics-core` brings by itself works, and what needs an extra says which; `nox -s no_extras`.

Nothing here may need a package of the extras, those of the tests included: only the package itself and pytest.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import analytics_core
from analytics_core import AnalyticsCore, Settings, errors, resolve_time_range
from analytics_core._engine.engines.registry import installed_engines
from analytics_core.otel import OpenTelemetryObserver
from analytics_core.redis import RedisCache, RedisLock
from analytics_core.testing.sample_data import make_shop

PROJECT = Path(__file__).resolve().parents[2]
MODULES_OF_EXTRAS = (
    *(
        "celery",
        "clickhouse_connect",
        "databricks",
        "duckdb",
        "duckdb_sqlalchemy",
        "holidays",
        "opentelemetry",
    ),
    *("oracledb", "polars", "psycopg", "psycopg2", "pydruid", "pyhive", "pymysql", "pyodbc", "pypdf", "redis"),
    *("snowflake", "sqlalchemy_bigquery", "sqlglotc", "trino", "vl_convert"),
)
ENGINES = [
    spec for spec in map(installed_engines(()).get, installed_engines(()).names()) if spec.extra_name is not None
]


def line(extra: str) -> str:
    return f'needs an optional package: pip install "analytics-core[{extra}]"'


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with analytics_core.connect(make_shop(tmp_path_factory.mktemp("base") / "shop.db")) as made:
        made.datasets.create({"database": 1, "table_name": "orders"})
        yield made


def ask(core: Any, **query: Any) -> Any:
    revenue = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "amount"}, "label": "revenue"}
    queries = [{"columns": ["category"], "metrics": [revenue], "orderby": [["revenue", False]], **query}]
    return core.charts.data({"datasource": {"id": 1, "type": "table"}, "queries": queries})


def test_this_environment_has_no_extra() -> None:
    assert [name for name in MODULES_OF_EXTRAS if find_spec(name) is not None] == []


def test_the_quick_start_runs() -> None:
    script = PROJECT / "examples" / "first_chart.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "country" in done.stdout


def test_an_answer_takes_every_form_but_polars(core: Any, tmp_path: Path) -> None:
    answer = ask(core)
    result = answer.results[0]
    assert len(result.rows()) == len(result.pandas()) == result.arrow().num_rows == len(result.data) > 1
    answer.to_csv(tmp_path / "rows.csv")
    answer.to_xlsx(tmp_path / "rows.xlsx")
    assert (tmp_path / "rows.csv").stat().st_size > 0 < (tmp_path / "rows.xlsx").stat().st_size
    with pytest.raises(errors.MissingExtraError) as caught:
        result.polars()
    assert line("polars") in str(caught.value)


def test_operations_and_forecasts_run(core: Any) -> None:
    month = {"expressionType": "SQL", "sqlExpression": "order_date", "label": "day", "columnType": "BASE_AXIS"}
    forecast = {"operation": "forecast", "options": {"time_grain": "P1M", "periods": 3, "confidence_interval": 0.8}}
    result = ask(core, columns=[{**month, "timeGrain": "P1M"}], orderby=[], post_processing=[forecast]).results[0]
    assert {"revenue__yhat", "revenue__yhat_lower", "revenue__yhat_upper"} <= set(result.pandas().columns)


@pytest.mark.parametrize("spec", ENGINES, ids=lambda spec: spec.name)
def test_a_database_without_its_driver_says_which_extra_brings_it(spec: Any) -> None:
    url = "duckdb://" if spec.name == "duckdb" else f"{spec.name}://somebody:word@host.example/db"
    with pytest.raises(errors.MissingExtraError) as caught:
        analytics_core.connect(url)
    assert str(caught.value).endswith(line(spec.extra_name))


@pytest.mark.parametrize(("url", "extra"), [("postgresql://h/db", "postgres"), ("mariadb://h/db", "mysql")])
def test_a_store_without_its_driver_says_which_extra_brings_it(url: str, extra: str) -> None:
    with pytest.raises(errors.MissingExtraError) as caught:
        AnalyticsCore(Settings(secret_key="Xq8hz3kWv0TnB5yLr7uC2dGf9sJm4aPe"), metadata_url=url)
    assert line(extra) in str(caught.value)


@pytest.mark.parametrize("made", [RedisCache, RedisLock])
def test_shared_memory_says_which_extra_brings_it(made: Any) -> None:
    with pytest.raises(errors.MissingExtraError) as caught:
        made("redis://cache.example:6379/0")
    assert line("redis") in str(caught.value)


def test_the_observer_of_opentelemetry_says_which_extra_brings_it() -> None:
    with pytest.raises(errors.MissingExtraError) as caught:
        OpenTelemetryObserver()
    assert str(caught.value) == f"OpenTelemetryObserver {line('otel')}"


def test_a_holiday_says_which_extra_knows_it() -> None:
    with pytest.raises(errors.MissingExtraError) as caught:
        resolve_time_range("HOLIDAY('Christmas')", now=datetime(2026, 1, 1, tzinfo=UTC))
    assert line("holidays") in str(caught.value)


def test_a_runner_on_celery_says_which_extra_brings_it() -> None:
    from analytics_core.celery import CeleryJobRunner

    with pytest.raises(errors.MissingExtraError) as caught:
        CeleryJobRunner("redis://broker/0")
    assert line("celery") in str(caught.value)
