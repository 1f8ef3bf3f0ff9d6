"""What the operations do fast is what NumPy and pandas do slowly, to the last bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

from analytics_core import postprocessing
from analytics_core._engine.frames.grouping import factorized_texts, group_rows, stable_order
from analytics_core._engine.frames.operations import geodetic_parse

FLOATS = st.sampled_from([0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), float("-inf"), 5e-324, 1e308])
INTEGERS = st.integers(-3, 3) | st.integers(-(2**62), 2**62)
ROWS = st.lists(st.tuples(st.integers(0, 3), INTEGERS, FLOATS | st.floats(-2, 2)), max_size=40)


def arrays(rows: list[tuple[int, int, float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    codes, ints, floats = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(codes, np.int64), np.array(ints, np.int64), np.array(floats, np.float64)


@given(rows=ROWS)
def test_the_order_of_rows_is_that_of_lexsort(rows: list[tuple[int, int, float]]) -> None:
    codes, ints, floats = arrays(rows)
    for keys in [(floats,), (ints,), (codes, floats), (floats, codes), (codes, ints, floats), (floats, ints, codes)]:
        assert stable_order(keys).tolist() == np.lexsort(keys[::-1]).tolist()


def test_keys_that_do_not_fit_into_one_number_are_sorted_too() -> None:
    generator = np.random.default_rng(7)
    keys = [generator.permutation(20_000) % 15_000 for _ in range(5)]
    assert stable_order(keys).tolist() == np.lexsort(keys[::-1]).tolist()


@given(rows=ROWS)
def test_ranks_are_those_of_pandas(rows: list[tuple[int, int, float]]) -> None:
    codes, ints, floats = arrays(rows)
    frame = pd.DataFrame({"group": codes, "whole": ints, "float": floats})
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


NUMBER = st.floats(-400, 400).map(repr) | st.sampled_from(
    ["52.5", "-0", "5.", ".5", "+7", "1e3", "nan", "inf", "", "x"]
)
BLANKS = st.sampled_from(["", "", " ", " ", "  ", "\t", "\u00a0", "\x1c"])
POINT = st.builds(
    lambda *parts: "".join(parts), BLANKS, NUMBER, BLANKS, st.sampled_from([",", ",", ",,", ""]), BLANKS, NUMBER
)
PLAIN_POINT = st.builds(
    lambda lat, comma, lon: f"{lat!r}{comma}{lon!r}", st.floats(), st.sampled_from([",", ", "]), st.floats()
)


@given(texts=st.lists(PLAIN_POINT, max_size=20) | st.lists(POINT | st.none(), max_size=6), start=st.integers(0, 2))
def test_points_are_read_in_place_as_they_are_in_halves(texts: list[str | None], start: int) -> None:
    column = pa.array(texts, type=pa.large_string())[start:]
    fast = geodetic_parse.plain_pairs(column)
    if fast is None:
        return
    slow = geodetic_parse.decimal_pairs(column)
    for name in ("latitude", "longitude", "altitude"):
        assert getattr(fast, name).tobytes() == getattr(slow, name).tobytes()


@for_each("texts", [["5,", " 6,7"], ["5", "6,7,8"], [",5", "6"], ["1 ,2"], ["1,  2"], ["1,2", None], [""], []])
def test_points_that_are_not_plain_are_not_read_in_place(texts: list[str | None]) -> None:
    assert geodetic_parse.plain_pairs(pa.array(texts, type=pa.large_string())) is None


def test_plain_points_are_read_in_place_also_behind_others() -> None:
    points = geodetic_parse.plain_pairs(pa.array(["x", "52.5, 13.4", "-0.0,1e2"], type=pa.large_string())[1:])
    assert points is not None
    assert points.latitude.tolist() == [52.5, -0.0]
    assert points.longitude.tolist() == [13.4, 100.0]


KEYS = st.lists(st.sampled_from(["b", "a", "ä", "", "Z", "aa", None]), max_size=30)


@given(keys=KEYS, further=st.booleans())
def test_texts_are_grouped_as_objects_are(keys: list[str | None], further: bool) -> None:
    texts = pd.Series(keys, dtype="str")
    objects = pd.Series(keys, dtype=object)
    other = [pd.Series([place % 2 for place in range(len(keys))])] if further else []
    fast = group_rows([texts, *other], length=len(keys))
    slow = group_rows([objects, *other], length=len(keys))
    assert fast.size == slow.size
    assert fast.codes.tolist() == slow.codes.tolist()
    assert fast.codes.dtype == slow.codes.dtype
    expected = pd.Series(slow.key_array(objects), dtype="str")
    pd.testing.assert_series_equal(pd.Series(fast.key_array(texts)), expected)
    pd.testing.assert_series_equal(fast.keys(texts), expected)


@given(rows=ROWS, ends=st.sampled_from([(5, 95), (0, 100), (33.3, 50)]))
def test_boxes_are_those_of_numpy_group_by_group(rows: list[tuple[int, int, float]], ends: tuple[float, float]) -> None:
    codes, ints, floats = arrays(rows)
    frame = pd.DataFrame({"group": codes, "whole": ints % 1000, "float": np.where(np.isfinite(floats), floats, np.nan)})
    for metric in ("whole", "float"):
        boxes = postprocessing.boxplot(
            frame, groupby="group", metrics=metric, whisker_type="percentile", percentiles=ends
        )
        for _, box in boxes.iterrows():
            values = frame.loc[frame["group"] == box["group"], metric].dropna().to_numpy()
            assert box[f"{metric}__count"] == len(values)
            if len(values):
                with np.errstate(over="ignore"):
                    low, high = np.percentile(values, ends)
                    middle = [np.percentile(values, q, method="midpoint") for q in (25, 50, 75)]
                made = [box[f"{metric}__{name}"] for name in ("min", "max", "q1", "median", "q3")]
                assert made == [low, high, *middle]
                outside = [*values[values > high].tolist(), *values[values < low].tolist()]
                assert box[f"{metric}__outliers"] == outside


@for_each(
    "words",
    [
        ["b", "a", "c"],
        ["ä", "öu"],
        ["ä", "bc", "aa"],
        ["", ""],
        ["x", "x", None],
        ["x", "yy"],
        ["Country 1", "Country 2"],
    ],
)
@for_each("dtype", ["str", pd.StringDtype("pyarrow"), pd.StringDtype("python", na_value=np.nan)])
@for_each("start", [0, 1])
def test_many_texts_are_numbered_as_pandas_does(words: list[str | None], dtype: pd.StringDtype, start: int) -> None:
    key = pd.Series(words * 3_000, dtype=dtype)[start:]
    codes, different = factorized_texts(key)
    expected, values = key.array.factorize()
    assert codes.tolist() == expected.tolist()
    pd.testing.assert_extension_array_equal(different, values)
