"""Whatever is asked, the answer is rows or a typed error: no other exception, no write, no secret, no hidden row.

`--hypothesis-profile night` searches longer than the usual run does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.any_payload import AGGREGATES, COLUMNS, FRAGMENTS, HOSTILE, contexts
from tests.support.cases import for_each
from tests.support.execution import fingerprint

from analytics_core import AnalyticsCore, Settings
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User
from analytics_core.errors import AnalyticsError
from analytics_core.testing.clock import FixedClock

search = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])

SECRET = "s3cr3t-of-the-vault"
HIDDEN = "hidden-row-77"
KEY = "k3y-of-the-core-0123456789"
FOLDER = "folder-nobody-should-see"
NEVER_DISPLAYED = (SECRET, HIDDEN, KEY, FOLDER)

TABLE = """CREATE TABLE orders (id BIGINT NOT NULL, city VARCHAR(20), quantity INTEGER, price DECIMAL(10, 2),
weight DOUBLE, is_paid BOOLEAN, ordered_at TIMESTAMP, shipped_on DATE, note VARCHAR(40), visible INTEGER)"""
ROWS = (
    "(1, 'Bonn', 3, 1.50, 0.5, TRUE, '2024-01-01 10:00:00', '2024-01-02', NULL, 1)",
    "(2, 'Köln', 1, 9.99, 1.5, FALSE, '2024-02-03 11:30:00', '2024-02-05', 'it''s', 1)",
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', 1)",
    "(4, 'bonn ', 0, 0, -1, TRUE, '2023-12-31 23:59:59', '2024-01-01', '50%', 1)",
    f"(5, '{HIDDEN}', 7, 7, 7, TRUE, '2024-03-03 00:00:00', '2024-03-03', '{HIDDEN}', 0)",
)
STATEMENTS = (
    TABLE,
    f"INSERT INTO orders VALUES {', '.join(ROWS)}",
    "CREATE TABLE vault (id INTEGER, secret VARCHAR(40))",
    f"INSERT INTO vault VALUES (1, '{SECRET}')",
)


class OnlyVisible:
    """The row rule of these tests: nobody sees rows that are not visible."""

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        """Return the one rule."""
        return (RowFilter(name="visible only", clause="visible = 1"),)


@dataclass(frozen=True)
class World:
    """A core on a database file, and the folder that nobody may write to."""

    core: AnalyticsCore
    folder: Path
    before: Mapping[str, str]


def _fill_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in STATEMENTS:
            connection.execute(statement)


def _fill_duckdb(path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with closing(duckdb.connect(str(path))) as connection:
        for statement in STATEMENTS:
            connection.execute(statement)


FILLERS = {"sqlite": _fill_sqlite, "duckdb": _fill_duckdb}


@pytest.fixture(scope="module", params=list(FILLERS))
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world on SQLite and one on DuckDB."""
    folder = tmp_path_factory.mktemp(FOLDER)
    path = folder / "shop.db"
    FILLERS[request.param](path)
    made = AnalyticsCore(
        Settings(secret_key=KEY, data_roots=(folder,), statement_timeout_s=5.0),
        clock=FixedClock(datetime(2024, 7, 15, 10, 30, tzinfo=UTC)),
        row_filters=[OnlyVisible()],
    )
    with made:
        core = made.as_user(made.create_first_administrator("admin").id)
        core.databases.create({"database_name": "shop", "orm_uri": f"{request.param}:///{path}"})
        created = core.datasets.create({"database": 1, "table_name": "orders"})
        core.datasets.update(created.id, {"fetch_values_predicate": "quantity >= 0", "metrics": METRICS})
        yield World(core=core, folder=folder, before=fingerprint(folder))


METRICS = [
    {"metric_name": "count", "expression": "COUNT(*)"},
    {"metric_name": "total", "expression": "SUM(quantity)"},
    {"metric_name": "half", "expression": "SUM(quantity) / 2.0"},
]


def answer_text(world: World, payload: Any) -> str:
    """Ask, and return everything that the answer says; an exception that is not typed is not caught."""
    try:
        answer = world.core.charts.data(payload)
    except AnalyticsError as error:
        return f"{error} {error.to_payload()}"
    for result in answer.results:
        assert result.failure is None or isinstance(result.failure, AnalyticsError)
    return answer.to_json().decode() + "".join(str(result.failure) for result in answer.results)


def explained_text(world: World, payload: Any) -> str:
    """Return what `explain` says."""
    try:
        return repr(world.core.charts.explain(payload))
    except AnalyticsError as error:
        return str(error)


def check(world: World, payload: Any) -> str:
    """Ask and explain; nothing may be written or shown that must not be."""
    text = answer_text(world, payload)
    for output in (text, explained_text(world, payload)):
        for secret in NEVER_DISPLAYED:
            assert secret not in output
    assert fingerprint(world.folder) == world.before
    return text


def requested(**query: Any) -> dict[str, Any]:
    return {"datasource": {"id": 1, "type": "table"}, "queries": [query]}


@pytest.mark.slow
@search
@given(payload=contexts())
def test_any_payload_gives_rows_or_a_typed_error(world: World, payload: dict[str, Any]) -> None:
    check(world, payload)


@search
@given(text=st.text(max_size=30) | st.binary(max_size=30))
def test_any_text_gives_a_typed_error(world: World, text: str | bytes) -> None:
    check(world, text)


def by_city(**query: Any) -> dict[str, Any]:
    """Return a query for groups."""
    return {"columns": ["city"], "metrics": ["count"], **query}


def filtered(col: Any, op: str, val: Any = None) -> dict[str, Any]:
    """Return a query for raw rows with one filter."""
    return {"columns": ["city"], "filters": [{"col": col, "op": op, "val": val}]}


PLACES = {
    "columns": lambda text: by_city(columns=[text]),
    "ad-hoc column": lambda text: by_city(columns=[{"label": "x", "sqlExpression": text}]),
    "raw ad-hoc column": lambda text: {"columns": [{"label": "x", "sqlExpression": text}]},
    "metric": lambda text: {"metrics": [text]},
    "ad-hoc metric": lambda text: {"metrics": [{"expressionType": "SQL", "sqlExpression": text, "label": "x"}]},
    "label": lambda text: by_city(columns=[{"label": text, "sqlExpression": "city"}]),
    "where": lambda text: {"columns": ["city", "note"], "extras": {"where": text}},
    "having": lambda text: by_city(extras={"having": text}),
    "filter column": lambda text: filtered(text, "IS NOT NULL"),
    "filter expression": lambda text: filtered({"label": "x", "sqlExpression": text}, "IS NOT NULL"),
    "filter value": lambda text: filtered("city", "!=", text),
    "filter values": lambda text: filtered("city", "NOT IN", [text]),
    "filter pattern": lambda text: filtered("note", "NOT LIKE", text),
    "filter number": lambda text: filtered("quantity", "!=", text),
    "operator": lambda text: filtered("city", text, "x"),
    "order": lambda text: {"columns": ["city"], "orderby": [[text, True]]},
    "granularity": lambda text: {"metrics": ["count"], "granularity": text, "time_range": "2024"},
    "time range": lambda text: {"metrics": ["count"], "granularity": "ordered_at", "time_range": text},
    "grain": lambda text: by_city(granularity="ordered_at", extras={"time_grain_orm": text}),
    "series column": lambda text: by_city(series_columns=[text], series_limit=1),
    "series metric": lambda text: by_city(series_columns=["city"], series_limit=1, series_limit_metric=text),
    "url parameter": lambda text: {"metrics": ["count"], "url_params": {"a": text}},
}


@pytest.mark.slow
@for_each("place", list(PLACES))
def test_no_hostile_text_in_any_place_reads_or_writes_what_it_must_not(world: World, place: str) -> None:
    for text in HOSTILE:
        check(world, requested(**PLACES[place](text)))


def test_harmless_look_alikes_give_rows(world: World) -> None:
    for text in ("it's", "50%", "x; y", "--", 'O\'Hara \\ "q" ? :p0 %(p0)s $p0', "NULL", "DROP TABLE orders"):
        for op in ("==", "!=", "IN", "NOT LIKE"):
            query = {"columns": ["id"], "filters": [{"col": "note", "op": op, "val": text}]}
            answer = world.core.charts.data(requested(**query))
            assert answer.results[0].failure is None
    answer = world.core.charts.data(requested(columns=["id"], filters=[{"col": "note", "op": "==", "val": "it's"}]))
    assert answer.to_payload()["result"][0]["data"] == [{"id": 2}]


@for_each("fragment", FRAGMENTS)
def test_a_sound_fragment_gives_rows(world: World, fragment: str) -> None:
    column = {"label": "x", "sqlExpression": fragment}
    answer = world.core.charts.data(requested(columns=[column], metrics=["count"], orderby=[["x", False]]))
    assert answer.results[0].failure is None


def test_constants_may_be_the_only_group_and_the_only_series(world: World) -> None:
    column = {"label": "x", "sqlExpression": "7"}
    query = {"columns": [column], "metrics": ["count"]}
    for more in ({}, {"series_columns": [column], "series_limit": 1}, {"is_rowcount": True}):
        assert check(world, requested(**query, **more)).count('"count":4') == (0 if more.get("is_rowcount") else 1)
    assert '"data":[{"x":7}]' in check(world, requested(columns=[column], metrics=[]))


@for_each("fragment", AGGREGATES)
def test_a_sound_metric_gives_rows(world: World, fragment: str) -> None:
    metric = {"expressionType": "SQL", "sqlExpression": fragment, "label": "x"}
    query = {
        "columns": ["city"],
        "metrics": [metric],
        "orderby": [[metric, False]],
        "extras": {"having": f"{fragment} IS NOT NULL"},
    }
    answer = world.core.charts.data(requested(**query))
    assert answer.results[0].failure is None


@for_each("column", COLUMNS)
def test_every_column_can_be_asked_for_and_compared(world: World, column: str) -> None:
    answer = world.core.charts.data(
        requested(columns=[column], metrics=["count"], filters=[{"col": column, "op": "IS NOT NULL"}])
    )
    assert answer.results[0].failure is None
    assert answer.results[0].rowcount > 0


def test_the_row_rule_holds_for_every_way_of_asking(world: World) -> None:
    """The hidden row is not counted, and its values do not show."""
    count = {"metrics": ["count"], "extras": {"where": "1 = 1 OR visible = 0"}}
    assert '"count":4' in check(world, requested(**count))
    assert '"rowcount":4' in check(
        world, requested(columns=["id"], is_rowcount=True, extras={"where": "1 = 1 OR 1 = 1"})
    )
    check(world, {**requested(columns=["city"]), "result_type": "samples"})
    check(world, {**requested(columns=["city"]), "result_type": "drill_detail"})
