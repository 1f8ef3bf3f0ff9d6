"""The same payload gives the same rows on every engine, and they are the rows of a plain-Python evaluation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import awkward, reference

import analytics_core
from analytics_core.models.enums import TimeGrain

ROWS = awkward.rows()
COLUMNS = ["name", "grp", "flag", "qty", "price"]
METRICS = [
    {
        "expressionType": "SIMPLE",
        "column": {"column_name": column},
        "aggregate": aggregate,
        "label": f"{aggregate} of {column}",
    }
    for column, aggregates in {
        "qty": ("SUM", "AVG", "MIN", "MAX", "COUNT", "COUNT_DISTINCT"),
        "price": ("SUM", "AVG", "MIN", "MAX"),
        "name": ("MIN", "MAX", "COUNT", "COUNT_DISTINCT"),
        "flag": ("SUM", "AVG", "MIN", "MAX"),
        "ts": ("MIN", "MAX"),
    }.items()
    for aggregate in aggregates
]


def _cores(urls: dict[str, str]) -> dict[str, Any]:
    cores = {}
    for name, url in urls.items():
        awkward.load(url, ROWS)
        core = analytics_core.connect(url)
        core.datasets.create({"database": 1, "table_name": awkward.TABLE})
        cores[name] = core
    return cores


@pytest.fixture(scope="module")
def embedded_cores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("differential")
    cores = _cores({"sqlite": f"sqlite:///{folder}/a.db", "duckdb": f"duckdb:///{folder}/a.duckdb"})
    yield cores
    for core in cores.values():
        core.close()


@pytest.fixture(scope="module")
def server_cores(postgres_url: str, mariadb_url: str) -> Iterator[dict[str, Any]]:
    cores = _cores({"postgresql": postgres_url, "mysql": mariadb_url})
    yield cores
    for core in cores.values():
        core.close()


def _columns() -> st.SearchStrategy[list[Any]]:
    axis = st.builds(
        lambda column, grain: {
            "columnType": "BASE_AXIS",
            "expressionType": "SQL",
            "sqlExpression": column,
            "label": "axis",
            "timeGrain": grain.value,
        },
        st.sampled_from(["ts", "day"]),
        st.sampled_from(list(TimeGrain)),
    )
    plain = st.lists(st.sampled_from(COLUMNS), unique=True, max_size=2)
    return st.builds(lambda first, rest: [*first, *rest], st.lists(axis, max_size=1), plain)


def _filters() -> st.SearchStrategy[list[dict[str, Any]]]:
    names = st.sampled_from(awkward.NAMES)
    texts = st.sampled_from([name for name in awkward.NAMES if name is not None])
    patterns = st.sampled_from(["%", "B%", "b_", "%o%", "a\\%b", "a\\_b", "É", "_", "", "%'%", "%漢%"])
    moments = st.sampled_from(["2024-01-01", "2024-02-29T12:30:00", "2024-06-30T23:59:59.5"])
    comparisons = st.sampled_from(["==", "!=", ">", ">=", "<", "<="])
    members = st.sampled_from(["IN", "NOT IN"])
    likes = st.sampled_from(["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"])
    one = st.one_of(
        _filter(st.just("name"), comparisons, texts),
        _filter(st.just("name"), likes, patterns),
        _filter(st.just("name"), members, st.lists(names, min_size=1, max_size=4)),
        _filter(st.just("qty"), comparisons, st.integers(-6, 21)),
        _filter(st.just("qty"), members, st.lists(st.integers(-6, 21), min_size=1, max_size=4)),
        _filter(st.just("price"), comparisons, st.integers(-400, 4000).map(lambda n: n / 8)),
        _filter(st.just("ts"), st.sampled_from([">", ">=", "<", "<="]), moments),
        _filter(st.just("day"), comparisons, st.sampled_from(["2024-01-01", "2024-03-05"])),
        _filter(st.just("flag"), st.sampled_from(["IS TRUE", "IS FALSE"]), st.none()),
        _filter(st.just("flag"), st.sampled_from(["==", "!="]), st.booleans()),
        _filter(
            st.sampled_from(["ts", "name", "grp", "qty", "flag"]),
            st.sampled_from(["IS NULL", "IS NOT NULL"]),
            st.none(),
        ),
    )
    return st.lists(one, max_size=3)


def _filter(col: Any, op: Any, val: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda c, o, v: {"col": c, "op": o, "val": v}, col, op, val)


@st.composite
def queries(draw: st.DrawFn) -> dict[str, Any]:
    columns = draw(_columns())
    metrics = draw(st.lists(st.sampled_from(METRICS), unique_by=lambda m: m["label"], max_size=4))
    if not columns and not metrics:
        metrics = METRICS[:1]
    query: dict[str, Any] = {"columns": columns, "metrics": metrics, "filters": draw(_filters())}
    labels = [item if isinstance(item, str) else item["label"] for item in (*columns, *metrics)]
    query["orderby"] = draw(st.lists(st.tuples(st.sampled_from(labels), st.booleans()), max_size=2))
    query["row_limit"] = draw(st.sampled_from([3, 10, 1000]))
    query["row_offset"] = draw(st.sampled_from([0, 0, 2]))
    plain = [item for item in columns if isinstance(item, str)]
    if plain and metrics and draw(st.booleans()):
        query |= {"series_columns": plain[:1], "series_limit": draw(st.integers(1, 4))}
        query["order_desc"] = draw(st.booleans())
        query["group_others_when_limit_reached"] = draw(st.booleans())
    return query


def _answer(core: Any, query: dict[str, Any]) -> list[tuple[Any, ...]]:
    data = core.charts.data({"datasource": {"id": 1, "type": "table"}, "queries": [query], "force": True})
    data.raise_for_error()
    return [tuple(_comparable(value) for value in row) for row in data.results[0].frame.rows()]


def _comparable(value: Any) -> Any:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return float(value) if not isinstance(value, str | datetime | None) else value


def _same(ours: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
    return len(ours) == len(wanted) and all(
        all(_close(a, _comparable(b)) for a, b in zip(left, right, strict=True))
        for left, right in zip(ours, wanted, strict=True)
    )


def _close(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return bool(left == right)


def _check(cores: dict[str, Any], query: dict[str, Any]) -> None:
    wanted = reference.answer(query, ROWS)
    for name, core in cores.items():
        ours = _answer(core, query)
        assert _same(ours, wanted), f"{name}: {ours[:5]} is not {wanted[:5]}"


COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def _others(column: str, limit: int, **more: Any) -> dict[str, Any]:
    series = {"series_columns": [column], "series_limit": limit, "group_others_when_limit_reached": True}
    return {"columns": [column], "metrics": [METRICS[4]], "row_limit": 1000, **series, **more}


OTHERS = [
    _others("grp", 6),  # all groups are in it, one is called "Others" and one is null
    _others("grp", 4),
    _others("grp", 5, columns=["grp", "flag"], orderby=[["grp", False]]),
    _others("price", 20, row_limit=12),
    _others("price", 3, orderby=[["price", True]]),
    _others("flag", 1),
    _others("flag", 1, columns=["flag", "qty"], row_limit=20),
]


@pytest.mark.parametrize("query", OTHERS)
def test_others_are_the_same_on_embedded_engines(embedded_cores: dict[str, Any], query: dict[str, Any]) -> None:
    _check(embedded_cores, query)


@pytest.mark.server
@pytest.mark.parametrize("query", OTHERS)
def test_others_are_the_same_on_servers(server_cores: dict[str, Any], query: dict[str, Any]) -> None:
    _check(server_cores, query)


def test_a_series_called_others_keeps_its_name_and_a_note_tells_that_of_the_rest(
    embedded_cores: dict[str, Any],
) -> None:
    whole = _others("grp", 6, columns=["grp"])
    every = [name for name in awkward.GROUPS if name != "Others"]
    filters = [{"col": "grp", "op": "NOT IN", "val": [name for name in every if name]}]
    for core in embedded_cores.values():
        result = core.charts.data(
            {"datasource": {"id": 1, "type": "table"}, "queries": [{**whole, "series_limit": 1, "filters": filters}]}
        ).results[0]
        assert result.colnames == ("grp", "COUNT of qty")
        assert set(result.label_map) == set(result.colnames)
        (shown,) = [row["grp"] for row in result.data]
        assert shown == "Others"
        assert result.notes == ()
        asked = {**whole, "series_limit": 5}
        result = core.charts.data({"datasource": {"id": 1, "type": "table"}, "queries": [asked]}).results[0]
        assert {"Others", "Others (rest)"} <= {row["grp"] for row in result.data}
        assert result.notes == ("a series is called 'Others', so the rest is called 'Others (rest)'",)


@settings(COMMON, max_examples=150)
@given(query=queries())
def test_embedded_engines_answer_as_plain_python_does(embedded_cores: dict[str, Any], query: dict[str, Any]) -> None:
    _check(embedded_cores, query)


@pytest.mark.server
@settings(COMMON, max_examples=100)
@given(query=queries())
def test_servers_answer_as_plain_python_does(server_cores: dict[str, Any], query: dict[str, Any]) -> None:
    _check(server_cores, query)
