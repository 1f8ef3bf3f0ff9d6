"""Statements that are written for the sake of an index or a hash join give the rows of the plain form, on awkward rows.

The same rows stand in a table whose columns lead indexes and in one without; in Python too.
"""

from __future__ import annotations

import math
import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.cases import for_each

import analytics_core

ENGINES = (
    "sqlite",
    "duckdb",
    pytest.param("postgres", marks=pytest.mark.server),
    pytest.param("mariadb", marks=pytest.mark.server),
)
TEXTS = ["Bo", "bo", "BO ", "", "é", "É", "a%b", "a_b", "a\\b", "a!b", "漢", "😀", "Others", None]
KEYS = ("ts", "day", "num", "dec", "name", "flag", "qty")


def _rows(count: int, *, has_nan: bool) -> list[dict[str, Any]]:
    source = random.Random(23)
    numbers = [0.0, -1.5, 2.25, math.inf, None] + ([math.nan] if has_nan else [0.5])
    if not has_nan:
        numbers.remove(math.inf)
    return [
        {
            "id": number,
            "ts": source.choice([None, datetime(2024, 1, 1), datetime(1970, 1, 1)])
            or (None if number % 3 else datetime(2024, 1, 1) + timedelta(hours=source.randrange(40))),
            "day": source.choice([None, date(1970, 1, 1), date(2024, 2, 29)]),
            "num": source.choice(numbers),
            "dec": source.choice([None, 0, 1, 7]),
            "name": source.choice(TEXTS),
            "flag": source.choice([None, True, False]),
            "qty": source.choice([None, 0, 0, 1, 2, -3]),
        }
        for number in range(count)
    ]


def _table(meta: sa.MetaData, name: str, *, is_indexed: bool) -> sa.Table:
    from sqlalchemy.dialects import mysql

    long = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
    types = {"ts": long, "day": sa.Date, "num": sa.Double, "dec": sa.Numeric(20, 4), "name": sa.String(30)}
    columns = [sa.Column(key, types.get(key, sa.Boolean if key == "flag" else sa.Integer)) for key in KEYS]
    table = sa.Table(name, meta, sa.Column("id", sa.Integer, primary_key=True, autoincrement=False), *columns)
    for key in KEYS if is_indexed else ():
        sa.Index(f"ix_{key}", table.c[key])
    return table


class World:
    """A core over both tables, and their rows."""

    def __init__(self, url: str, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        meta = sa.MetaData()
        tables = [_table(meta, "indexed", is_indexed=True), _table(meta, "bare", is_indexed=False)]
        engine = sa.create_engine(url)
        meta.create_all(engine)
        with engine.begin() as connection:
            for table in tables:
                connection.execute(sa.insert(table), rows)
        engine.dispose()
        self.core = analytics_core.connect(url)
        for table in tables:
            self.core.datasets.create({"database": 1, "table_name": table.name})

    def ask(self, dataset: int, query: dict[str, Any]) -> Any:
        """Return the result of a query on dataset 1 (indexed) or 2 (bare)."""
        payload = {"datasource": {"id": dataset, "type": "table"}, "queries": [query]}
        return self.core.charts.data(payload).raise_for_error().results[0]

    def answer(self, dataset: int, query: dict[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return [tuple(row.values()) for row in self.ask(dataset, query).data]


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if request.param in ("sqlite", "duckdb"):
        url = f"{request.param}:///{tmp_path_factory.mktemp('rewritten')}/a.{request.param}"
    else:
        url = request.getfixturevalue(f"make_{request.param}_database")()
    world = World(url, _rows(150, has_nan=request.param in ("duckdb", "postgres")))
    yield world
    world.core.close()


quick = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def _filters() -> st.SearchStrategy[list[dict[str, Any]]]:
    one = st.sampled_from(
        [
            {"col": "qty", "op": "IN", "val": [0, 1]},
            {"col": "qty", "op": "IN", "val": [0, None]},
            {"col": "qty", "op": "NOT IN", "val": [0, None]},
            {"col": "qty", "op": "IS NULL"},
            {"col": "name", "op": "!=", "val": "bo"},
            {"col": "name", "op": "NOT LIKE", "val": "B%"},
            {"col": "ts", "op": "TEMPORAL_RANGE", "val": "2024-01-01 : 2024-01-02"},
            {"col": "flag", "op": "IS FALSE"},
            {"col": "num", "op": ">", "val": 0},
        ]
    )
    return st.lists(one, max_size=2)


@pytest.mark.slow
@quick
@given(
    keys=st.lists(
        st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=1, max_size=3, unique_by=lambda key: key[0]
    ),
    columns=st.lists(st.sampled_from(["id", *KEYS]), min_size=1, max_size=3, unique=True),
    filters=_filters(),
    limit=st.integers(1, 160),
    offset=st.integers(0, 160),
)
def test_pages_are_those_of_the_plain_order(
    world: World, keys: Any, columns: list[str], filters: Any, limit: int, offset: int
) -> None:
    query = {
        "columns": ["id", *[name for name in columns if name != "id"]],
        "metrics": None,
        "filters": filters,
        "orderby": [list(key) for key in keys],
        "row_limit": limit,
        "row_offset": offset,
    }
    found = world.answer(1, query)
    assert found == world.answer(2, query)
    if not filters:
        expected = sorted(world.rows, key=lambda row: row["id"], reverse=not keys[-1][1])
        for name, ascending in reversed(keys):
            present = [row for row in expected if row[name] is not None]
            present.sort(key=lambda row, n=name: _rank(row[n]), reverse=not ascending)  # type: ignore[misc]
            expected = present + [row for row in expected if row[name] is None]
        assert [row[0] for row in found] == [row["id"] for row in expected][offset : offset + limit]


def _rank(value: Any) -> Any:
    """Return what sorts a value: NaN above all numbers, texts by code point."""
    if isinstance(value, float) and math.isnan(value):
        return (1, 0)
    return (0, value)


@pytest.mark.slow
@quick
@given(
    columns=st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True),
    limit=st.integers(1, 8),
    filters=_filters(),
)
def test_the_best_series_are_the_same_by_every_join(world: World, columns: list[str], limit: int, filters: Any) -> None:
    query = {
        "columns": columns,
        "metrics": ["count"],
        "filters": filters,
        "row_limit": 1000,
        "series_columns": columns,
        "series_limit": limit,
    }
    found = world.answer(1, query)
    assert found == world.answer(2, query)
    if not filters:
        counts = Counter(tuple(_known(row[name]) for name in columns) for row in world.rows)
        best = sorted(counts.items(), key=lambda item: (-item[1], [(part is None, _order(part)) for part in item[0]]))
        assert sorted(row[-1] for row in found) == sorted(count for _, count in best[:limit])
        assert len(found) == min(limit, len(counts))


def _known(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _order(value: Any) -> Any:
    if value is None:
        return (0, 0)
    return (1, 0) if value == "NaN" and not isinstance(value, bool) else (0, value)


PATTERNS = ["B%", "b_", "%", "", "a\\%b", "a\\_b", "a%b", "a_b", "a\\\\b", "a!b", "!%", "%!", "É", "%o%", "a\\", "\\%"]


@pytest.mark.slow
@for_each("pattern", PATTERNS)
@for_each("op", ["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"])
def test_patterns_with_and_without_an_escape(world: World, op: str, pattern: str) -> None:
    import re

    query = {"columns": ["name"], "metrics": ["count"], "filters": [{"col": "name", "op": op, "val": pattern}]}
    parts, chars = [], iter(pattern)
    for char in chars:
        if char == "\\":
            parts.append(re.escape(next(chars, "\\")))
        else:
            parts.append({"%": ".*", "_": "."}.get(char, re.escape(char)))
    flags = re.DOTALL | (re.IGNORECASE if "ILIKE" in op else 0)
    names = [row["name"] for row in world.rows if row["name"] is not None]
    expected = Counter(n for n in names if bool(re.fullmatch("".join(parts), n, flags)) != op.startswith("NOT"))
    assert dict(world.answer(1, query)) == dict(world.answer(2, query)) == expected


@pytest.mark.slow
@for_each("values", [[text] for text in TEXTS if text is not None] + [["bo", "é"], ["", None, "BO "]])
def test_texts_are_found_exactly_by_an_index_of_another_collation(world: World, values: list[Any]) -> None:
    item = (
        {"col": "name", "op": "IN", "val": values} if len(values) > 1 else {"col": "name", "op": "==", "val": values[0]}
    )
    query = {"columns": ["name"], "metrics": ["count"], "filters": [item]}
    expected = Counter(row["name"] for row in world.rows if row["name"] in values)
    assert dict(world.answer(1, query)) == dict(world.answer(2, query)) == expected


@pytest.mark.server
def test_texts_of_a_collation_that_folds_them_are_told_apart_on_postgresql(request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("make_postgres_database")(icu_locale="en")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE COLLATION folds (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        connection.exec_driver_sql(
            'CREATE TABLE t (plain TEXT COLLATE "en-x-icu", folded TEXT COLLATE folds, '
            "number INT GENERATED ALWAYS AS IDENTITY)"
        )
        connection.exec_driver_sql("INSERT INTO t VALUES ('b', 'b'), ('B', 'B'), ('a', 'a'), ('A', 'A'), ('a', 'a')")
    engine.dispose()
    with analytics_core.connect(url) as core:
        core.datasets.create({"database": 1, "table_name": "t"})

        def ask(query: dict[str, Any]) -> Any:
            payload = {"datasource": {"id": 1, "type": "table"}, "queries": [{"metrics": ["count"], **query}]}
            return core.charts.data(payload).raise_for_error().results[0]

        for name in ("plain", "folded"):
            grouped = ask({"columns": [name], "orderby": [[name, True]], "series_columns": [name], "series_limit": 3})
            assert [tuple(row.values()) for row in grouped.data] == [("A", 1), ("B", 1), ("a", 2)]
            for item in ({"op": "==", "val": "a"}, {"op": "IN", "val": ["a"]}, {"op": "LIKE", "val": "a%"}):
                found = ask({"columns": [name], "filters": [{"col": name, **item}]})
                assert [tuple(row.values()) for row in found.data] == [("a", 2)]
            assert ('GROUP BY "t"."plain" ORDER BY' in ask({"columns": [name]}).query) == (name == "plain")


@pytest.mark.parametrize(("declared", "is_reported"), [("TEXT", False), ("TEXT COLLATE NOCASE", True)])
def test_only_texts_of_another_collation_are_told_to_compare_by_code_point_on_sqlite(
    tmp_path: Path, declared: str, is_reported: bool
) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as raw, raw:
        raw.execute(f"CREATE TABLE t (name {declared})")
        raw.executemany("INSERT INTO t VALUES (?)", [("b",), ("B",), ("a",), ("A",), ("a",)])
    with analytics_core.connect(f"sqlite:///{tmp_path / 'a.db'}") as core:
        core.datasets.create({"database": 1, "table_name": "t"})
        query = {"columns": ["name"], "metrics": ["count"], "orderby": [["name", True]]}
        payload = {"datasource": {"id": 1, "type": "table"}, "queries": [query]}
        answer = core.charts.data(payload).raise_for_error().results[0]
    assert [tuple(row.values()) for row in answer.data] == [("A", 1), ("B", 1), ("a", 2), ("b", 1)]
    assert ("COLLATE" in answer.query) == is_reported


@pytest.mark.server
def test_only_texts_of_another_character_set_are_converted_on_mariadb(request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("make_mariadb_database")()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE t (utf8 VARCHAR(10) CHARACTER SET utf8mb4, latin VARCHAR(10) CHARACTER SET latin1)"
        )
        connection.exec_driver_sql("INSERT INTO t VALUES ('é', 'é'), ('É', 'É'), ('e', 'e'), ('e ', 'e '), ('é', 'é')")
    engine.dispose()
    with analytics_core.connect(url) as core:
        core.datasets.create({"database": 1, "table_name": "t"})
        for name, is_converted in (("utf8", False), ("latin", True)):
            query = {"columns": [name], "metrics": ["count"], "orderby": [[name, True]]}
            payload = {"datasource": {"id": 1, "type": "table"}, "queries": [query]}
            answer = core.charts.data(payload).raise_for_error().results[0]
            assert [tuple(row.values()) for row in answer.data] == [("e", 1), ("e ", 1), ("É", 1), ("é", 2)]
            assert ("CHARACTER SET" in answer.query) == is_converted


@pytest.mark.server
def test_an_index_of_another_character_set_is_not_asked_for_what_that_set_lacks(request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("make_mariadb_database")()
    engine = sa.create_engine(url)
    sets = ("ascii", "latin1", "utf8mb3", "utf8mb4")
    with engine.begin() as connection:
        for name in sets:
            connection.exec_driver_sql(f"CREATE TABLE {name} (id INT, s VARCHAR(10) CHARACTER SET {name}, KEY (s))")
            connection.exec_driver_sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'A'), (3, 'a '), (4, NULL)")
    engine.dispose()
    with analytics_core.connect(url) as core:
        for number, name in enumerate(sets, 1):
            core.datasets.create({"database": 1, "table_name": name})

            def ids(op: str, value: Any, number: int = number) -> Any:
                query = {"columns": ["id"], "filters": [{"col": "s", "op": op, "val": value}]}
                payload = {"datasource": {"id": number, "type": "table"}, "queries": [query]}
                answer = core.charts.data(payload).raise_for_error().results[0]
                return sorted(row["id"] for row in answer.data), answer.query

            assert ids("==", "😀")[0] == ids("IN", ["é", "漢"])[0] == []
            assert ids("IN", ["a", "😀"])[0] == [1]
            assert ids("!=", "😀")[0] == ids("NOT IN", ["é", "漢"])[0] == [1, 2, 3]
            found, sql = ids("==", "a")
            assert found == [1]
            assert "`s` = 'a' AND" in sql
            assert ("`s` = '😀' AND" in ids("==", "😀")[1]) == (name == "utf8mb4")


@pytest.mark.slow
@for_each("where", ["", "id + 0 >= 0"])
def test_every_page_keeps_to_row_rules_where_rows_have_a_key_and_where_they_have_none(world: World, where: str) -> None:
    """The fragment is one that a fence keeps from hidden rows."""
    rule = world.core.row_level_security.create(
        {"name": f"r{where}", "filter_type": "Base", "clause": "id < 70", "tables": [1, 2], "roles": []}
    )
    try:
        for ascending in (True, False):
            seen = sorted(
                (row for row in world.rows if row["id"] < 70), key=lambda row: row["id"], reverse=not ascending
            )
            keyed = sorted((row for row in seen if row["ts"]), key=lambda row: row["ts"], reverse=not ascending)
            expected = [row["id"] for row in keyed + [row for row in seen if not row["ts"]]]
            assert 5 < len(keyed) < 65
            for offset in range(0, 75, 6):
                page = {**_page("ts", ascending), "row_offset": offset, "extras": {"where": where}}
                assert [row[0] for row in world.answer(1, page)] == expected[offset : offset + 5]
    finally:
        world.core.row_level_security.delete(rule.id)


def test_pages_are_read_in_two_parts_where_an_index_needs_it(world: World) -> None:
    splits = {"DESC": world.ask(1, _page("ts", False)).query, "ASC": world.ask(1, _page("ts", True)).query}
    engine = world.core.databases.get(1).backend
    wanted = {"postgresql": ["DESC"], "mysql": ["ASC"], "mariadb": ["ASC"]}.get(engine, [])
    assert [name for name, sql in splits.items() if "UNION ALL" in sql] == wanted
    assert "UNION ALL" not in world.ask(2, _page("ts", False)).query + world.ask(2, _page("ts", True)).query
    filtered = {"filters": [{"col": "ts", "op": ">", "val": "2020-01-01"}]}
    for ascending in (True, False):
        sql = world.ask(1, {**_page("ts", ascending), **filtered}).query
        assert "UNION ALL" not in sql
        assert "IS NULL" not in sql
        assert "NULLS LAST" not in sql


def _page(key: str, ascending: bool) -> dict[str, Any]:
    return {"columns": ["id", key], "metrics": None, "orderby": [[key, ascending]], "row_limit": 5, "row_offset": 3}


@pytest.mark.server
@pytest.mark.parametrize(("engine", "ascending"), [("postgres", False), ("mariadb", True)])
def test_a_page_of_one_indexed_column_of_a_table_without_a_key(
    request: pytest.FixtureRequest, engine: str, ascending: bool
) -> None:
    url = request.getfixturevalue(f"make_{engine}_database")()
    meta = sa.MetaData()
    table = sa.Table("keyless", meta, sa.Column("qty", sa.Integer, index=True))
    source = sa.create_engine(url)
    with source.begin() as connection:
        meta.create_all(connection)
        connection.execute(table.insert(), [{"qty": value} for value in (None, 1, None, 2, None)])
    source.dispose()
    with analytics_core.connect(url) as core:
        dataset = core.datasets.create({"database": 1, "table_name": "keyless"})
        label = "\U0001f600"  # no name of a column on MariaDB
        query = {
            "columns": [{"label": label, "sqlExpression": "qty"}],
            "metrics": None,
            "orderby": [["qty", ascending]],
            "row_limit": 2,
        }
        pages = [
            core.charts.data(
                {"datasource": {"id": dataset.id, "type": "table"}, "queries": [{**query, "row_offset": offset}]}
            ).raise_for_error()
            for offset in (0, 2, 4)
        ]
        assert all("UNION ALL" in page.results[0].query for page in pages)
        numbers = [1, 2] if ascending else [2, 1]
        assert [row[label] for page in pages for row in page.results[0].data] == [*numbers, None, None, None]
