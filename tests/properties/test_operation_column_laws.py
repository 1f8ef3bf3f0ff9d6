"""Laws of compare, select, rename and rank on multi-level columns, nulls and columns of every dtype."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.any_frames import COLUMN_KINDS, columns_of_any_dtype, picture

from analytics_core import postprocessing

VALUES = st.one_of(st.none(), st.integers(-1000, 1000).map(float), st.floats(-1e3, 1e3, allow_subnormal=False))
NAMES = ("a", "b", "c", "d")
LEVELS = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(["p", "q", None])), max_size=6, unique=True)


@st.composite
def frames_of_any_columns(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(0, 5))
    return pd.DataFrame({name: draw(columns_of_any_dtype(rows)) for name in NAMES}, index=range(rows))


@given(
    rows=st.lists(st.tuples(VALUES, VALUES), max_size=10),
    kind=st.sampled_from(["difference", "percentage", "ratio"]),
    precision=st.integers(0, 8),
)
def test_comparing_is_a_plain_loop_over_the_rows(
    rows: list[tuple[float | None, float | None]], kind: str, precision: int
) -> None:
    table = pd.DataFrame(rows, columns=["s", "c"], dtype="float64")
    result = postprocessing.compare(
        table, source_columns="s", compare_columns="c", compare_type=kind, precision=precision
    )
    for (source, other), made in zip(rows, result[f"{kind}__s__c"], strict=True):
        if source is None or other is None:
            assert math.isnan(made)
        elif kind == "difference":
            assert made == source - other
        elif other:
            share = source / other if kind == "ratio" else (source - other) / other
            assert math.isclose(made, share, rel_tol=1e-12, abs_tol=0.51 * 10**-precision)
        else:
            assert not math.isfinite(made)


@given(table=frames_of_any_columns(), data=st.data())
def test_selecting_keeps_values_and_dtypes_and_leaves_nothing_else(table: pd.DataFrame, data: st.DataObject) -> None:
    columns = data.draw(st.lists(st.sampled_from(NAMES), unique=True))
    exclude = data.draw(st.lists(st.sampled_from(NAMES), unique=True))
    result = postprocessing.select(table, columns=columns, exclude=exclude, rename={"a": "new"})
    wanted = [name for name in columns or NAMES if name not in exclude]
    assert list(result.columns) == ["new" if name == "a" else name for name in wanted]
    expected = table[wanted].set_axis(result.columns, axis="columns")
    assert picture(result) == picture(expected)


@given(labels=LEVELS, level=st.sampled_from([0, 1]), new=st.sampled_from(["n", "n, m"]))
def test_renaming_back_gives_the_labels_back(labels: list[tuple[str, Any]], level: int, new: str) -> None:
    old = "x" if level == 0 else "p"
    assume(any(label[level] == old for label in labels))
    columns = pd.MultiIndex.from_tuples(labels, names=[None, "k"])
    table = pd.DataFrame([range(len(labels))], columns=columns)
    renamed = postprocessing.rename(table, columns={old: new}, level=level)
    assert [label[level] == new for label in renamed.columns] == [label[level] == old for label in columns]
    back = postprocessing.rename(renamed, columns={new: old}, level=level)
    assert [tuple(None if pd.isna(part) else part for part in label) for label in back.columns] == labels
    assert list(back.columns.names) == [None, "k"]


@given(data=st.data(), kind=st.sampled_from(sorted(COLUMN_KINDS)))
def test_equal_keys_are_one_group_of_every_dtype(data: st.DataObject, kind: str) -> None:
    rows = data.draw(st.integers(0, 6))
    table = pd.DataFrame({"k": data.draw(columns_of_any_dtype(rows, kind)), "x": 1.0}, index=range(rows))
    result = postprocessing.aggregate(table, groupby="k", aggregates={"n": {"column": "x", "operator": "count"}})
    nulls = table["k"].isna().to_list()
    keys = [None if null else value for value, null in zip(table["k"].tolist(), nulls, strict=True)]
    different = [key for place, key in enumerate(keys) if key not in keys[:place]]
    assert sorted(result["n"]) == sorted(keys.count(key) for key in different)
    assert result["k"].isna().to_list() == sorted(result["k"].isna())
