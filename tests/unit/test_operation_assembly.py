"""A table laid in blocks is the table that the plain constructor makes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics_core._engine.frames.operations.boxplot import table_of

TEXTS = st.one_of(st.none(), st.text(max_size=4))
FLOATS = st.floats(allow_nan=True, allow_infinity=True)
KINDS = {
    "float": (FLOATS, np.float64),
    "whole": (st.integers(-(2**40), 2**40), np.int64),
    "list": (st.lists(FLOATS, max_size=2), object),
}


@st.composite
def parts(draw: st.DrawFn) -> tuple[dict[str, object], dict[str, np.ndarray], int]:
    """Return keys, columns and the number of rows; a name of a column may be that of a key."""
    rows = draw(st.integers(0, 5))
    storage = draw(st.sampled_from(["python", "pyarrow"]))
    dtype = pd.StringDtype(storage=storage, na_value=np.nan)
    keys: dict[str, object] = {}
    for name in draw(st.lists(st.sampled_from("abc"), unique=True, max_size=3)):
        if draw(st.integers(0, 4)):
            keys[name] = pd.array(draw(st.lists(TEXTS, min_size=rows, max_size=rows)), dtype=dtype)
        else:
            keys[name] = pd.array(draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows)), dtype="Int64")
    made = {}
    for name in draw(st.lists(st.sampled_from("cdefgh"), unique=True, max_size=6)):
        values, kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
        made[name] = np.empty(rows, dtype=kind)
        for row in range(rows):
            made[name][row] = draw(values)
    return keys, made, rows


@given(parts())
def test_a_table_in_blocks_is_the_one_of_the_plain_constructor(
    case: tuple[dict[str, object], dict[str, np.ndarray], int],
) -> None:
    keys, made, rows = case
    plain = pd.DataFrame({**keys, **made}, index=pd.RangeIndex(rows), copy=False)
    table = table_of(keys, made, rows=rows)
    pd.testing.assert_frame_equal(table, plain, check_column_type=True, check_index_type=True)
    assert list(table.dtypes) == list(plain.dtypes)


def test_neighbours_of_one_type_share_a_block_and_the_table_can_be_changed() -> None:
    key = pd.array(["x", "y"], dtype="str")
    table = table_of({"k": key}, {"m": np.array([1.0, 2.0]), "n": np.array([3.0, 4.0])}, rows=2)
    table.loc[0, "m"] = 9.0
    table["o"] = [1, 2]
    table = table.drop(columns="n").sort_values("k", ascending=False)
    assert table.to_dict("list") == {"k": ["y", "x"], "m": [2.0, 9.0], "o": [2, 1]}


@pytest.mark.parametrize("kind", [np.float64, np.int64, object])
def test_a_single_column_is_taken_as_it_is(kind: type) -> None:
    made = {"m": np.array([1, 2], dtype=kind)}
    table = table_of({"k": pd.array(["x", None], dtype="str")}, made, rows=2)
    assert table["m"].dtype == kind
    assert table["m"].tolist() == [1, 2]
