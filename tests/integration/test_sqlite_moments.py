"""Moments that SQLite keeps as text, with every zone: equality, lists, bounds and buckets agree with what is shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each

import analytics_core

DAYS = ("2024-01-31", "1969-12-31")
CLOCKS = ("", " 00:00", "T00:00:00", " 10:30", "T10:30:15", " 10:30:15.5", "T23:59:59.999999", " 00:30:00.000001")
ZONES = ("", "Z", "+00:00", "+02:00", "-05:30", "+14:00")
TEXTS = [
    day + clock + zone
    for day in DAYS
    for clock in CLOCKS
    for zone in ZONES
    if not zone or clock.count(":") == 2 or (zone == "Z" and clock)  # the forms that are read
]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

EXTREMES = [
    {"expressionType": "SIMPLE", "column": {"column_name": "ts"}, "aggregate": aggregate, "label": aggregate}
    for aggregate in ("MIN", "MAX")
]


def meant(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


MOMENTS = [meant(text) for text in TEXTS]


def milliseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


@pytest.fixture(scope="module", params=["TIMESTAMP", "DATE", "TEXT"])
def requested(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    file: Path = tmp_path_factory.mktemp("moments") / "moments.db"
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, ts {request.param})")
        raw.execute("CREATE INDEX t_ts ON t (ts)")
        raw.executemany("INSERT INTO t VALUES (?, ?)", enumerate(TEXTS))
    with analytics_core.connect(f"sqlite:///{file}") as core:
        made = core.datasets.create({"database": 1, "table_name": "t"})
        columns = [{"id": c.id, "column_name": c.column_name, "is_dttm": c.column_name == "ts"} for c in made.columns]
        core.datasets.update(made.id, {"columns": columns, "main_dttm_col": "ts"})

        def ask(query: dict[str, Any]) -> list[dict[str, Any]]:
            payload = {"datasource": {"id": made.id, "type": "table"}, "queries": [query]}
            rows: list[dict[str, Any]] = core.charts.data(payload).raise_for_error().results[0].data
            return rows

        yield ask


def ids(rows: list[dict[str, Any]]) -> set[int]:
    return {row["id"] for row in rows}


def where(ask: Any, op: str, value: Any) -> set[int]:
    return ids(ask({"columns": ["id"], "filters": [{"col": "ts", "op": op, "val": value}]}))


def test_what_is_shown_is_the_moment_in_utc(requested: Any) -> None:
    moments = {row["id"]: row["ts"] for row in requested({"columns": ["id", "ts"]})}
    assert moments == {place: milliseconds(moment) for place, moment in enumerate(MOMENTS)}


@pytest.mark.slow
def test_equality_and_lists_find_every_text_of_a_moment(requested: Any) -> None:
    for moment in sorted(set(MOMENTS)):
        same = {place for place, other in enumerate(MOMENTS) if other == moment}
        assert where(requested, "==", moment.isoformat()) == same
        assert where(requested, "!=", moment.isoformat()) == set(range(len(TEXTS))) - same
        assert where(requested, "IN", [moment.isoformat(), "1999-01-01"]) == same


def test_a_number_finds_every_text_of_its_millisecond(requested: Any, request: pytest.FixtureRequest) -> None:
    if request.node.callspec.params["requested"] == "DATE":  # columns of days are compared exactly
        return
    for number in {*map(milliseconds, MOMENTS)}:
        near = {place for place, other in enumerate(MOMENTS) if milliseconds(other) == number}
        assert where(requested, "==", number) == near


@pytest.mark.slow
def test_bounds_part_the_moments(requested: Any) -> None:
    bounds = {*MOMENTS, *(moment + timedelta(microseconds=1) for moment in MOMENTS[::7])}
    for moment in sorted({*bounds, datetime(2024, 1, 31, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)}):
        after = {place for place, other in enumerate(MOMENTS) if other >= moment}
        assert where(requested, ">=", moment.isoformat()) == after
        assert where(requested, "<", moment.isoformat()) == set(range(len(TEXTS))) - after
    day = {place for place, moment in enumerate(MOMENTS) if moment.date().isoformat() == "2024-01-31"}
    ranged = {"columns": ["id"], "granularity": "ts", "time_range": "2024-01-31 : 2024-02-01"}
    assert ids(requested(ranged)) == day


@pytest.mark.slow
def test_extremes_are_those_of_the_moments(requested: Any) -> None:
    for size in (2, 3, 5, len(TEXTS)):
        for start in range(0, len(TEXTS), size):
            some = list(range(len(TEXTS)))[start : start + size]
            among = [{"col": "id", "op": "IN", "val": some}]
            found = requested({"metrics": EXTREMES, "filters": among})
            few = [MOMENTS[place] for place in some]
            assert found == [{"MIN": milliseconds(min(few)), "MAX": milliseconds(max(few))}]


def test_rows_and_groups_are_ordered_by_the_moments_with_their_fractions(
    requested: Any, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.params["requested"] != "TEXT":  # columns that are declared as moments: by their texts
        return
    for ascending in (True, False):
        order = {"orderby": [["ts", ascending]]}
        expected = sorted(map(milliseconds, MOMENTS), reverse=not ascending)
        rows = requested({"columns": ["id", "ts"], **order})
        assert [MOMENTS[row["id"]] for row in rows] == sorted(MOMENTS, reverse=not ascending)
        first = requested({"columns": ["ts"], **order, "row_limit": 1})
        assert [row["ts"] for row in first] == expected[:1]
        groups = requested({"columns": ["ts"], "metrics": ["count"], **order})
        assert [row["ts"] for row in groups] == sorted((row["ts"] for row in groups), reverse=not ascending)


@for_each(("grain", "size"), [("PT1H", timedelta(hours=1)), ("P1D", timedelta(days=1))])
def test_buckets_are_those_of_the_moments(requested: Any, grain: str, size: timedelta) -> None:
    axis = {"columnType": "BASE_AXIS", "sqlExpression": "ts", "label": "ts", "timeGrain": grain}
    counted = {"expressionType": "SIMPLE", "column": {"column_name": "id"}, "aggregate": "COUNT", "label": "n"}
    found = {row["ts"]: row["n"] for row in requested({"columns": [axis], "metrics": [counted]})}
    expected: dict[int, int] = {}
    for moment in MOMENTS:
        bucket = milliseconds(moment - (moment - EPOCH) % size)
        expected[bucket] = expected.get(bucket, 0) + 1
    assert found == expected


def test_pages_of_rows_without_a_key_are_in_the_order_of_the_moments(tmp_path: Path) -> None:
    texts = ["2024-01-31 10:30:15", "2024-01-31T09:00:00Z", "2024-01-31 11:00:00+02:00", "2024-01-30 23:00:00-05:30"]
    with closing(sqlite3.connect(tmp_path / "keyless.db")) as raw, raw:
        raw.execute("CREATE TABLE t (ts TEXT)")
        raw.executemany("INSERT INTO t VALUES (?)", [(text,) for text in texts])
    with analytics_core.connect(f"sqlite:///{tmp_path / 'keyless.db'}") as core:
        made = core.datasets.create({"database": 1, "table_name": "t"})
        core.datasets.set_column(made.id, {"column_name": "ts", "is_dttm": True})
        moments = []
        for offset in range(len(texts)):
            query = {"columns": ["ts"], "row_limit": 1, "row_offset": offset}
            payload = {"datasource": {"id": made.id, "type": "table"}, "queries": [query]}
            moments += [row["ts"] for row in core.charts.data(payload).raise_for_error().results[0].data]
    assert moments == sorted(milliseconds(meant(text)) for text in texts)


@pytest.mark.parametrize("odd", ["2024-01-31 10:30:15+0200", "2024-01-31 10:30+02:00", "20240131T103015", "soon"])
def test_a_text_that_sqlite_would_compare_wrongly_makes_its_column_text(tmp_path: Path, odd: str) -> None:
    file = tmp_path / "odd.db"
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute("CREATE TABLE t (ts TIMESTAMP)")
        raw.executemany("INSERT INTO t VALUES (?)", [(odd,), ("2024-01-31 10:30:15",)])
    with analytics_core.connect(f"sqlite:///{file}") as core:
        made = core.datasets.create({"database": 1, "table_name": "t"})
        payload = {"datasource": {"id": made.id, "type": "table"}, "queries": [{"columns": ["ts"]}]}
        rows = core.charts.data(payload).raise_for_error().results[0].data
    assert [row["ts"] for row in rows] == [odd, "2024-01-31 10:30:15"]


def test_an_index_serves_ranges_and_equality(requested: Any, tmp_path: Path) -> None:
    from tests.support.planning import spec_of, statement

    with closing(sqlite3.connect(":memory:")) as raw:
        raw.execute('CREATE TABLE "orders" (ordered_at TIMESTAMP, country TEXT, quantity INTEGER)')
        raw.execute("CREATE INDEX o ON orders (ordered_at)")
        assert spec_of("sqlite").name == "sqlite"
        for query in (
            {"granularity": "ordered_at", "time_range": "2024-01-31T10:00:00 : 2024-02-01"},
            {"filters": [{"col": "ordered_at", "op": "==", "val": "2024-01-31T10:00:00"}]},
        ):
            made = statement({"columns": ["country"], **query}, "sqlite")
            plan = raw.execute(f"EXPLAIN QUERY PLAN {made.sql}", made.parameters).fetchall()
            assert "USING INDEX o" in str(plan)


SAID = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f")


def of_format(time_format: str) -> list[datetime]:
    """Return moments that texts of a format can mean, about midnight, a second and the turn of 1970."""
    days = [datetime(1969, 12, 31), datetime(1970, 1, 1), datetime(2024, 1, 31), datetime(2024, 2, 1)]
    clocks = [timedelta(), timedelta(hours=10, minutes=30, seconds=15), timedelta(hours=23, minutes=59, seconds=59)]
    parts = [timedelta(), timedelta(microseconds=1), timedelta(microseconds=500_000), timedelta(microseconds=999_999)]
    found = [day + clock + part for day in days for clock in clocks for part in parts]
    return sorted({datetime.strptime(moment.strftime(time_format), time_format) for moment in found})


@pytest.mark.slow
@pytest.mark.parametrize("time_format", SAID)
@pytest.mark.parametrize("declared", ["TIMESTAMP", "DATE"])
def test_texts_of_a_format_that_the_dataset_says_are_compared_as_they_are(
    tmp_path: Path, time_format: str, declared: str
) -> None:
    moments = of_format(time_format)
    with closing(sqlite3.connect(tmp_path / "said.db")) as raw, raw:
        raw.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, ts {declared})")
        raw.executemany("INSERT INTO t VALUES (?, ?)", enumerate(m.strftime(time_format) for m in moments))
    with analytics_core.connect(f"sqlite:///{tmp_path / 'said.db'}") as core:
        made = core.datasets.create({"database": 1, "table_name": "t"})
        core.datasets.set_column(made.id, {"column_name": "ts", "python_date_format": time_format, "is_dttm": True})

        def ask(query: dict[str, Any]) -> Any:
            payload = {"datasource": {"id": made.id, "type": "table"}, "queries": [query]}
            return core.charts.data(payload).raise_for_error().results[0]

        def found(op: str, value: Any) -> set[int]:
            answer = ask({"columns": ["id"], "filters": [{"col": "ts", "op": op, "val": value}]})
            assert not any(word in answer.query for word in ("CASE", "GLOB", "SUBSTR"))
            return ids(answer.data)

        finest = [*moments, *(moment + timedelta(microseconds=400_000) for moment in moments)]
        for moment in (*finest, datetime(2024, 1, 31, 10, 30)):
            same = {place for place, other in enumerate(moments) if other == moment}
            after = {place for place, other in enumerate(moments) if other >= moment}
            assert found("==", moment.isoformat()) == found("IN", [moment.isoformat(), "1999-01-01"]) == same
            assert found("!=", moment.isoformat()) == set(range(len(moments))) - same
            assert found(">=", moment.isoformat()) == after
            assert found("<", moment.isoformat()) == set(range(len(moments))) - after
        axis = {"columnType": "BASE_AXIS", "sqlExpression": "ts", "label": "ts", "timeGrain": "PT1H"}
        buckets = {row["ts"]: row["count"] for row in ask({"columns": [axis], "metrics": ["count"]}).data}
        hours = [milliseconds(m.replace(minute=0, second=0, microsecond=0, tzinfo=UTC)) for m in moments]
        assert buckets == {hour: hours.count(hour) for hour in hours}


@pytest.mark.parametrize("declared", ["TIMESTAMP", "DATE"])
def test_extremes_of_texts_whose_format_has_a_zone_are_those_of_the_moments(tmp_path: Path, declared: str) -> None:
    texts = ["2024-01-01T10:00:00+00:00", "2024-01-01T12:00:00+05:00", "2024-01-01T09:00:00-02:00"]
    with closing(sqlite3.connect(tmp_path / "zoned.db")) as raw, raw:
        raw.execute(f"CREATE TABLE t (ts {declared})")
        raw.executemany("INSERT INTO t VALUES (?)", [(text,) for text in texts])
    with analytics_core.connect(f"sqlite:///{tmp_path / 'zoned.db'}") as core:
        made = core.datasets.create({"database": 1, "table_name": "t"})
        said = {"column_name": "ts", "python_date_format": "%Y-%m-%dT%H:%M:%S%z", "is_dttm": True}
        core.datasets.set_column(made.id, said)
        for hours in (0, 3):
            core.datasets.update(made.id, {"offset": hours})
            payload = {"datasource": {"id": made.id, "type": "table"}, "queries": [{"metrics": EXTREMES}]}
            found = core.charts.data(payload).raise_for_error().results[0].data
            moments = [milliseconds(meant(text) + timedelta(hours=hours)) for text in texts]
            assert found == [{"MIN": min(moments), "MAX": max(moments)}]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    ("texts", "is_reported"),
    [
        (("2024-01-01 00:00:00", "2024-01-01 12:00:00", "2024-01-02 00:00:00"), False),
        (("2024-01-01 00:00:00+02:00", "2023-12-31 23:30:00Z", "2024-01-01 00:00:00Z"), True),
        (("2024-01-01T10:00:00", "2024-01-01 12:00:00"), True),
    ],
)
def test_rows_in_the_order_of_texts_that_is_not_that_of_their_moments_say_so(
    tmp_path: Path, texts: tuple[str, ...], is_reported: bool, descending: bool
) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as raw, raw:
        raw.execute("CREATE TABLE t (ts TIMESTAMP)")
        raw.executemany("INSERT INTO t VALUES (?)", [(text,) for text in texts])
    with analytics_core.connect(f"sqlite:///{tmp_path / 't.db'}") as core:
        made = core.datasets.create({"database": 1, "table_name": "t"})
        query = {"columns": ["ts"], "orderby": [["ts", not descending]]}
        payload = {"datasource": {"id": made.id, "type": "table"}, "queries": [query]}
        for _ in range(2):  # the second is cached
            notes = core.charts.data(payload).raise_for_error().results[0].notes
            assert any("which is not that of its moments" in note for note in notes) is is_reported
