"""What the operations do fast is what NumPy and pandas do slowly, to the last bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from analytics_core import postprocessing
from analytics_core._frames.operations.ordering import stable_order

FLOATS = st.sampled_from([0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), float("-inf"), 5e-324, 1e308])
WHOLE = st.integers(-3, 3) | st.integers(-(2**62), 2**62)
ROWS = st.lists(st.tuples(st.integers(0, 3), WHOLE, FLOATS | st.floats(-2, 2)), max_size=40)


def arrays(rows: list[tuple[int, int, float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    codes, whole, floats = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(codes, np.int64), np.array(whole, np.int64), np.array(floats, np.float64)


@given(rows=ROWS)
def test_the_order_of_rows_is_that_of_lexsort(rows: list[tuple[int, int, float]]) -> None:
    codes, whole, floats = arrays(rows)
    for keys in [(floats,), (whole,), (codes, floats), (floats, codes), (codes, whole, floats), (floats, whole, codes)]:
        assert stable_order(keys).tolist() == np.lexsort(keys[::-1]).tolist()


def test_keys_that_do_not_fit_into_one_number_are_sorted_too() -> None:
    generator = np.random.default_rng(7)
    keys = [generator.permutation(20_000) % 15_000 for _ in range(5)]
    assert stable_order(keys).tolist() == np.lexsort(keys[::-1]).tolist()


@given(rows=ROWS)
def test_ranks_are_those_of_pandas(rows: list[tuple[int, int, float]]) -> None:
    codes, whole, floats = arrays(rows)
    frame = pd.DataFrame({"group": codes, "whole": whole, "float": floats})
    for metric in ("whole", "float"):
        expected = frame.groupby("group")[metric].rank(pct=True)
        got = postprocessing.rank(frame, metric=metric, group_by="group")["rank"]
        np.testing.assert_array_equal(got.to_numpy(), expected.to_numpy())
        alone = postprocessing.rank(frame, metric=metric)["rank"]
        np.testing.assert_array_equal(alone.to_numpy(), frame[metric].rank(pct=True).to_numpy())


@given(rows=ROWS, bins=st.integers(1, 12))
def test_a_histogram_counts_as_numpy_does(rows: list[tuple[int, int, float]], bins: int) -> None:
    values = np.array([row[2] for row in rows if 1e-3 < abs(row[2]) < 10], np.float64)
    if not len(values) or len(set(values)) == 1 or np.ptp(values) < 1e-3:
        return
    got = postprocessing.histogram(pd.DataFrame({"x": values}), column="x", bins=bins)
    expected, _ = np.histogram(values, bins=np.histogram_bin_edges(values, bins=bins))
    assert got.iloc[0].tolist() == expected.tolist()
