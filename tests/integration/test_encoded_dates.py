"""Columns that store moments as numbers or text are shown as moments, and a filter on what is shown finds the row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each

import analytics_core
from analytics_core.errors import PayloadSchemaError

FORMATS = {
    "s": "epoch_s",
    "ms": "epoch_ms",
    "float_s": "epoch_s",
    "y": "%Y",
    "day_number": "%Y%m%d",
    "day_text": "%d/%m/%Y",
    "iso": None,
}
ROWS = [
    "(1, 1706697015, 1706697015000, 1706697015.5, 2024, 20240131, '31/01/2024', '2024-01-31T12:30:15+02:00', {first},"
    " 5)",
    "(2, 1677574800, 1677574800000, 1677574800.25, 2023, 20230228, '28/02/2023', '2023-02-28T09:00:00Z', {second}, 6)",
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
]
TABLE = """
CREATE TABLE logs (
    id INTEGER NOT NULL, s BIGINT, ms BIGINT, float_s DOUBLE PRECISION, y INTEGER, day_number INTEGER,
    day_text VARCHAR(10), iso VARCHAR(30), ts {timestamp}, spare BIGINT
)
"""
DAY_1, DAY_2 = 1_706_659_200_000, 1_677_542_400_000
DISPLAYED = {
    "s": (1_706_697_015_000, 1_677_574_800_000),
    "ms": (1_706_697_015_000, 1_677_574_800_000),
    "float_s": (1_706_697_015_500, 1_677_574_800_250),
    "y": (1_704_067_200_000, 1_672_531_200_000),
    "day_number": (DAY_1, DAY_2),
    "day_text": (DAY_1, DAY_2),
    "iso": (1_706_697_015_000, 1_677_574_800_000),
    "ts": (1_706_697_015_123, 1_677_574_800_000),
}
HOUR_MS = 3_600_000


def fill(url: str) -> None:
    first, second = "'2024-01-31 10:30:15.123456'", "'2023-02-28 09:00:00'"
    cast = "TIMESTAMP " if "duckdb" in url or "postgresql" in url else ""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        timestamp = "DATETIME(6)" if "mysql" in url else "TIMESTAMP"
        connection.exec_driver_sql(TABLE.format(timestamp=timestamp))
        for row in ROWS:
            values = row.format(first=cast + first, second=cast + second)
            connection.exec_driver_sql(f"INSERT INTO logs VALUES {values}")
        connection.exec_driver_sql("CREATE TABLE misfits (slashed VARCHAR(30), iso VARCHAR(30), seconds VARCHAR(30))")
        connection.exec_driver_sql(
            "INSERT INTO misfits VALUES ('31/01/2024', '2024-01-31', '1706697015'), ('soon', 'soon', 'soon')"
        )
    engine.dispose()


@pytest.fixture(scope="module", params=["sqlite", "duckdb", "postgresql", "mariadb"])
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    match request.param:
        case "postgresql":
            url = request.getfixturevalue("make_postgres_database")()
        case "mariadb":
            url = request.getfixturevalue("make_mariadb_database")()
        case _:
            url = f"{request.param}:///{tmp_path_factory.mktemp(request.param) / 'logs.db'}"
    fill(url)
    with analytics_core.connect(url) as made:
        yield made, {offset: make_dataset(made, offset) for offset in (0, 3)}


def make_dataset(core: Any, offset: int) -> int:
    sql = {"sql": "SELECT * FROM logs", "table_name": "moved"} if offset else {"table_name": "logs"}
    made = core.datasets.create({"database": 1, **sql})
    columns = [
        {
            "id": column.id,
            "column_name": column.column_name,
            "is_dttm": column.column_name in (*FORMATS, "ts", "spare"),
            "python_date_format": FORMATS.get(column.column_name),
        }
        for column in made.columns
    ]
    core.datasets.update(made.id, {"columns": columns, "offset": offset, "main_dttm_col": "ts"})
    return int(made.id)


def ask(core: Any, query: dict[str, Any], *, offset: int = 0, **context: Any) -> Any:
    made, datasets = core
    payload = {"datasource": {"id": datasets[offset], "type": "table"}, "queries": [query], **context}
    return made.charts.data(payload).raise_for_error().results[0]


def max_of(name: str) -> dict[str, Any]:
    return {"expressionType": "SIMPLE", "column": {"column_name": name}, "aggregate": "MAX", "label": "last"}


@pytest.mark.server
@for_each("offset", [0, 3])
def test_moments_are_shown_on_every_road(core: Any, offset: int) -> None:
    moved = {name: [value + offset * HOUR_MS for value in values] for name, values in DISPLAYED.items()}
    names = list(DISPLAYED)
    raw = ask(core, {"columns": ["id", *names], "orderby": [["id", True]]}, offset=offset)
    assert raw.coltypes[1:] == (2,) * len(names)
    for name in names:
        assert [row[name] for row in raw.data] == [*moved[name], None]
        grouped = ask(core, {"columns": [name], "metrics": [max_of("id")], "orderby": [[name, True]]}, offset=offset)
        assert [row[name] for row in grouped.data] == [*moved[name][::-1], None]
        last = ask(core, {"columns": [], "metrics": [max_of(name)]}, offset=offset)
        assert (last.data, last.coltypes) == ([{"last": max(moved[name])}], (2,))
        ordered = ask(core, {"columns": ["id"], "orderby": [[name, False]]}, offset=offset)
        assert [row["id"] for row in ordered.data] == [1, 2, 3]
    samples = ask(core, {"columns": []}, offset=offset, result_type="samples")
    assert samples.data[0]["day_text"] == moved["day_text"][0]
    assert samples.frame.columns[names.index("s") + 1].to_list()[0] == datetime(2024, 1, 31, 10 + offset, 30, 15)


@pytest.mark.server
@for_each("offset", [0, 3])
@for_each("name", list(DISPLAYED))
def test_a_filter_on_the_shown_value_finds_the_row(core: Any, name: str, offset: int) -> None:
    first, second = (value + offset * HOUR_MS for value in DISPLAYED[name])

    def ids(op: str, value: Any) -> list[int]:
        rows = ask(core, {"columns": ["id"], "filters": [{"col": name, "op": op, "val": value}]}, offset=offset).data
        return sorted(row["id"] for row in rows)

    assert ids("==", first) == [1]
    assert ids("!=", first) == [2]
    assert ids("IN", [second, None]) == [2, 3]
    assert ids("IN", [first, second]) == [1, 2]
    assert ids("NOT IN", [first]) == [2]
    assert ids(">", second) == [1]
    assert ids(">=", second) == [1, 2]
    assert ids("<=", first) == [1, 2]
    assert ids("<", first) == [2]


@pytest.mark.server
def test_the_axis_the_time_of_a_series_the_bounds_and_a_plain_column_agree(core: Any) -> None:
    expected_ms = DISPLAYED["ts"][0] + 3 * HOUR_MS
    day = {"time_range": "2024-01-31T13:00:00 : 2024-01-31T14:00:00", "granularity": "ts"}
    axis = {"columnType": "BASE_AXIS", "sqlExpression": "ts", "label": "ts"}
    plain = ask(core, {**day, "columns": ["ts"]}, offset=3)
    on_axis = ask(core, {**day, "columns": [axis], "metrics": [max_of("id")]}, offset=3)
    series = ask(core, {**day, "is_timeseries": True, "columns": [], "metrics": [max_of("id")]}, offset=3)
    assert plain.data == [{"ts": expected_ms}]
    assert on_axis.data == [{"ts": expected_ms, "last": 1}]
    assert series.data == [{"__timestamp": expected_ms, "last": 1}]


@pytest.mark.server
def test_a_number_that_is_flagged_without_a_format_is_shown_as_it_is_and_takes_an_open_range(core: Any) -> None:
    query = {"columns": ["spare"], "filters": [{"col": "spare", "op": "TEMPORAL_RANGE", "val": "No filter"}]}
    result = ask(core, query)
    assert [row["spare"] for row in result.data] == [5, 6, None]
    assert result.coltypes == (2,)


@pytest.mark.server
def test_compared_moments_meet_their_partners(core: Any) -> None:
    axis = {"columnType": "BASE_AXIS", "sqlExpression": "day_number", "label": "day"}
    query = {
        "columns": [axis],
        "metrics": [max_of("id")],
        "granularity": "day_number",
        "time_range": "2024-01-01 : 2024-03-01",
        "time_offsets": ["338 days ago"],
    }
    assert ask(core, query).data == [{"day": DAY_1, "last": 1, "last__338 days ago": None}]
    query["time_offsets"] = ["337 days ago"]
    assert ask(core, query).data == [{"day": DAY_1, "last": 1, "last__337 days ago": 2}]


@pytest.mark.server
@for_each(("name", "format_"), [("slashed", "%d/%m/%Y"), ("iso", None), ("seconds", "epoch_s")])
def test_a_text_that_is_no_moment_is_null_or_told_with_its_column(core: Any, name: str, format_: str | None) -> None:
    made, _ = core
    dataset = made.datasets.get_or_create({"database_id": 1, "table_name": "misfits"}).id
    made.datasets.set_column(dataset, {"column_name": name, "is_dttm": True, "python_date_format": format_})
    axis = {"columnType": "BASE_AXIS", "sqlExpression": name, "label": "year", "timeGrain": "P1Y"}
    grouped = {"columns": [axis], "metrics": ["count"], "orderby": [["year", True]]}
    bounded = {"metrics": ["count"], "filters": [{"col": name, "op": "TEMPORAL_RANGE", "val": "2024"}]}
    for query, counts in ((grouped, [1, 1]), (bounded, [1])):
        context = {"datasource": {"id": dataset, "type": "table"}, "queries": [query]}
        result = made.charts.data(context).results[0]
        if result.error is None:
            assert [row["count"] for row in result.data] == counts
        else:
            assert made.databases.get(1).backend == "postgresql"
            assert f"it reads moments from {name!r} by {format_ or 'ISO 8601'}" in result.error


UNREAD = ["%Y%Y", "%c%x", "%d %d", "%Y-%Q", "%d.%m.%y", "%m-%d", "%"]


@pytest.mark.server
@for_each("format_", UNREAD)
def test_a_format_that_no_engine_reads_is_refused_when_saved(core: Any, format_: str) -> None:
    made, _ = core
    dataset = made.datasets.get_or_create({"database_id": 1, "table_name": "misfits"}).id
    column = {"column_name": "slashed", "is_dttm": True, "python_date_format": format_}
    with pytest.raises(PayloadSchemaError) as refused:
        made.datasets.set_column(dataset, column)
    assert [problem.path for problem in refused.value.problems] == ["columns.0.python_date_format"]
    assert format_ in refused.value.problems[0].message
    with pytest.raises(PayloadSchemaError):
        made.datasets.set_column(
            dataset,
            {
                "column_name": "word",
                "expression": "slashed || ''",
                "type": "TEXT",
                **{key: value for key, value in column.items() if key != "column_name"},
            },
        )
    numbers = made.datasets.get_or_create({"database_id": 1, "table_name": "logs"}).id
    with pytest.raises(PayloadSchemaError, match="numbers"):
        made.datasets.set_column(numbers, {"column_name": "spare", "is_dttm": True, "python_date_format": "%d/%m/%Y"})


@pytest.mark.server
@for_each("format_", UNREAD)
def test_a_stored_format_that_no_engine_reads_gives_nulls_and_is_found_by_a_check(core: Any, format_: str) -> None:
    made, _ = core
    dataset = made.datasets.get_or_create({"database_id": 1, "table_name": "misfits"}).id
    with made._runtime.content.store.unit_of_work() as unit:
        stored = unit.datasets.get(dataset)
        said = [replace(column, is_dttm=True, python_date_format=format_) for column in stored.columns[:1]]
        unit.datasets.update(replace(stored, columns=(*said, *stored.columns[1:])), actor_id=1)
    context = {"datasource": {"id": dataset, "type": "table"}, "queries": [{"columns": ["slashed"], "metrics": None}]}
    assert [row["slashed"] for row in made.charts.data(context).raise_for_error().results[0].data] == [None, None]
    (entry,) = [record for record in made.check().broken if record.id == dataset]
    assert "column 'slashed'" in entry.problems[0]
    assert format_ in entry.problems[0]
    made.datasets.update(dataset, made.datasets.get(dataset))
    made.datasets.refresh(dataset)
    made.datasets.set_column(dataset, {"column_name": "slashed", "python_date_format": None, "is_dttm": False})
    assert made.check().broken == ()
