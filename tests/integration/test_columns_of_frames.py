"""Columns of frames: types, missing values, zones, odd headers and indexes come as a dataset's columns say."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.support.handed_over import queried, total

import analytics_core


def columns(thing: Any, name: str = "data") -> dict[str | None, str | None]:
    with analytics_core.connect(thing) as core:
        return {column.column_name: column.type for column in core.datasets.get(name).columns}


def values(thing: Any, column: str) -> list[Any]:
    """Return the values of a column, as an answer without aggregates has them."""
    with analytics_core.connect(thing) as core:
        return [row[0] for row in queried(core, "data", columns=(column,))]


TYPES = {
    "whole": (pd.Series([1, 2]), "BIGINT", [1, 2]),
    "small": (pd.Series([1, 2], dtype="int8"), "TINYINT", [1, 2]),
    "unsigned": (pd.Series([1, 2**63], dtype="uint64"), "UBIGINT", [1, 2**63]),
    "nullable": (pd.Series([1, None], dtype="Int64"), "BIGINT", [1, None]),
    "number": (pd.Series([1.5, None]), "DOUBLE", [1.5, None]),
    "half": (pd.Series([1.5, 2.5], dtype="float16"), "FLOAT", [1.5, 2.5]),
    "decimal": (pd.Series([Decimal("1.50"), Decimal("100.25")]), "DECIMAL(5,2)", [Decimal("1.50"), Decimal("100.25")]),
    "flag": (pd.Series([False, True]), "BOOLEAN", [False, True]),
    "flag or none": (pd.Series([True, None], dtype=object), "BOOLEAN", [True, None]),
    "text": (pd.Series(["x", None]), "VARCHAR", ["x", None]),
    "object text": (pd.Series(["x", None, float("nan")], dtype=object), "VARCHAR", ["x", None]),
    "category": (pd.Series(["x", None], dtype="category"), "VARCHAR", ["x", None]),
    "category of numbers": (pd.Series([1, 2], dtype="category"), "BIGINT", [1, 2]),
    "day": (pd.Series([dt.date(2024, 1, 31), None]), "DATE", [dt.date(2024, 1, 31), None]),
    "moment": (pd.Series([pd.Timestamp("2024-01-31 12:00"), None]), "TIMESTAMP", [dt.datetime(2024, 1, 31, 12), None]),
    "time": (pd.Series([dt.time(12, 30)]), "TIME", [dt.time(12, 30)]),
    "bytes": (pd.Series([b"ab"]), "BLOB", [b"ab"]),
    "nothing": (pd.Series([None, None], dtype=object), "VARCHAR", [None]),
    "sparse": (pd.Series([0, 7], dtype="Sparse[int]"), "BIGINT", [0, 7]),
    "empty": (pd.Series([], dtype="float64"), "DOUBLE", []),
}


@pytest.mark.slow
def test_types_of_pandas_are_those_of_the_dataset() -> None:
    given = {name: pd.DataFrame({"a": series}) for name, (series, _, _) in TYPES.items()}
    with analytics_core.connect(given) as core:
        for name, (_, kind, expected) in TYPES.items():
            assert core.datasets.get(name).columns[0].type == kind, name
            found = {repr(row[0]) for row in queried(core, name, columns=("a",))}
            assert found == set(map(repr, expected)), name


@pytest.mark.slow
def test_moments_with_a_zone_come_in_utc() -> None:
    moments = pd.Series(pd.to_datetime(["2024-06-01 12:00"])).dt.tz_localize("Europe/Berlin")
    assert columns(pd.DataFrame({"at": moments})) == {"at": "TIMESTAMP WITH TIME ZONE"}
    assert values(pd.DataFrame({"at": moments}), "at") == [dt.datetime(2024, 6, 1, 10, tzinfo=dt.UTC)]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_of_every_precision_are_grouped_by_month(unit: str) -> None:
    moments = pd.Series(np.array(["2024-01-01", "2024-01-31", "2024-02-01"], dtype=f"datetime64[{unit}]"))
    with analytics_core.connect(pd.DataFrame({"at": moments})) as core:
        assert core.datasets.get("data").main_dttm_col == "at"
        axis = {
            "expressionType": "SQL",
            "sqlExpression": "at",
            "label": "at",
            "columnType": "BASE_AXIS",
            "timeGrain": "P1M",
        }
        query = {"columns": [axis], "metrics": ["count"], "granularity": "at", "orderby": [["at", True]]}
        payload = {"datasource": {"id": 1, "type": "table"}, "queries": [query]}
        rows = core.charts.data(payload).raise_for_error().results[0].rows()
        assert [(moment.isoformat()[:10], count) for moment, count in rows] == [("2024-01-01", 2), ("2024-02-01", 1)]


@pytest.mark.slow
def test_spans_come_as_text() -> None:
    spans = pd.DataFrame({"took": pd.to_timedelta([90, 3600], unit="s")})
    assert columns(spans) == {"took": "INTERVAL"}
    assert values(spans, "took") == ["00:01:30", "01:00:00"]


@pytest.mark.slow
def test_missing_numbers_of_pandas_are_null_and_nan_of_polars_stays_out_of_answers() -> None:
    with analytics_core.connect(
        {"pandas": pd.DataFrame({"a": [1.0, np.nan]}), "polars": pl.DataFrame({"a": [1.0, None]})}
    ) as core:
        assert queried(core, "pandas", total("a")) == queried(core, "polars", total("a")) == [(1.0,)]
    assert values(pl.DataFrame({"a": [1.0, float("nan")]}), "a") == [1.0, None]


@pytest.mark.slow
def test_nested_columns_are_read_but_not_grouped_wrong() -> None:
    nested = pl.DataFrame({"tags": [["a", "b"], ["c"]], "place": [{"lat": 1.5}, {"lat": 2.5}], "n": [1, 2]})
    assert columns(nested) == {"tags": "VARCHAR[]", "place": "STRUCT(lat DOUBLE)", "n": "BIGINT"}
    assert values(nested, "tags") == [["a", "b"], ["c"]]
    assert values(nested, "place") == [{"lat": 1.5}, {"lat": 2.5}]
    with analytics_core.connect(nested) as core:
        latitude = {"expressionType": "SQL", "sqlExpression": "SUM(place.lat)", "label": "total"}
        assert queried(core, "data", latitude) == [(4.0,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (["a b", "Größe", "é/ü", 'q"uote', "o'clock", "ORDER", "a.b", "{{ x }}", "%s", ":y"], None),
        ([2023, 2024, 1.5], ["2023", "2024", "1.5"]),
        (["", None, float("nan")], ["column_1", "column_2", "column_3"]),
        ([pd.Timestamp("2024-01-01")], ["2024-01-01 00:00:00"]),
    ],
)  # fmt: skip
def test_odd_headers_are_columns(headers: list[Any], expected: list[str] | None) -> None:
    rows = pd.DataFrame([range(len(headers))], columns=pd.Index(headers, dtype=object))
    with analytics_core.connect(rows) as core:
        names = [str(column.column_name) for column in core.datasets.get("data").columns]
        assert names == (expected or headers)
        for place, name in enumerate(names):
            assert queried(core, "data", total(name)) == [(place,)]


@pytest.mark.slow
def test_an_index_with_a_name_or_of_moments_is_a_column() -> None:
    rows = pd.DataFrame({"n": [1, 2, 3]})
    assert list(columns(rows)) == ["n"]
    assert list(columns(rows[rows.n > 1])) == ["n"]
    assert list(columns(rows.set_index(pd.Index([7, 8, 9], name="id")))) == ["id", "n"]
    assert list(columns(rows.set_index(pd.date_range("2024", periods=3)))) == ["index", "n"]
    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["x", "y"])
    assert list(columns(rows.set_index(levels))) == ["x", "y", "n"]
    grouped = pd.DataFrame({"k": ["a", "a"], "n": [1, 2]}).groupby("k").sum()
    assert columns(grouped) == {"k": "VARCHAR", "n": "BIGINT"}


@pytest.mark.slow
def test_rows_of_dicts_with_different_keys_are_one_table() -> None:
    rows = [{"a": 1}, {"b": "x", "a": None}, {}]
    assert columns(rows) == {"a": "BIGINT", "b": "VARCHAR"}
    assert values(rows, "b") == ["x", None]


def test_types_of_arrow_are_read() -> None:
    given = pa.table(
        {
            "view": pa.array(["x"], pa.string_view()),
            "large": pa.array(["x"], pa.large_string()),
            "dictionary": pa.array(["x"]).dictionary_encode(),
            "wide": pa.array([Decimal("1.5")], pa.decimal256(50, 2)),
            "run": pa.RunEndEncodedArray.from_arrays([1], ["x"]),
            "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            "fixed": pa.array([b"ab"], pa.binary(2)),
        }
    )
    found = columns(given)
    assert found["wide"] == "DECIMAL(38,2)"
    assert [found[name] for name in ("view", "large", "dictionary", "run", "fixed")] == ["VARCHAR"] * 4 + ["BLOB"]
    assert found["map"] == "MAP(VARCHAR, BIGINT)"


def test_texts_of_polars_are_filtered_where_they_lie() -> None:
    rows = pl.DataFrame({"s": ["a", "b", None], "c": pl.Series(["x", "y", "x"], dtype=pl.Categorical), "n": [1, 2, 3]})
    with analytics_core.connect(rows) as core:
        only = [{"col": "s", "op": "IN", "val": ["a", "z"]}, {"col": "c", "op": "LIKE", "val": "x%"}]
        assert queried(core, "data", total("n"), filters=only) == [(1,)]


IN_AUCKLAND = """
import pandas as pd, analytics_core
rows = pd.DataFrame({"at": pd.to_datetime(["2024-01-01T20:00Z", "2024-01-01T03:00Z"]), "n": [1, 2]})
with analytics_core.connect(rows) as core:
    days = core.dataset().query("n").as_time("at").during(grain="day").run()[0].rows()
    print([(str(day)[:10], int(n)) for day, n in days])
"""


@pytest.mark.slow
def test_days_are_those_of_utc_wherever_the_process_runs() -> None:
    around = {**os.environ, "TZ": "Pacific/Auckland"}
    done = subprocess.run([sys.executable, "-c", IN_AUCKLAND], env=around, capture_output=True, text=True, check=True)
    assert done.stdout == "[('2024-01-01', 3)]\n"
