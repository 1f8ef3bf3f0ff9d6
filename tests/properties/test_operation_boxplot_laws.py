"""Laws of box plots: they agree with NumPy group by group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.operation_reference import tables
from tests.support.window_frames import cells

from analytics_core import postprocessing

NUMBERS = st.one_of(st.none(), st.integers(-50, 50).map(float), st.floats(-1e6, 1e6, allow_subnormal=False))
WHISKERS = st.sampled_from([("tukey", None), ("min/max", None), ("percentile", (5, 95)), ("percentile", (0, 50.5))])


def box_of(values: list[float], kind: str, percentiles: tuple[float, float] | None) -> list[Any]:
    """Return the statistics of values in the order of the rows, by NumPy."""
    q1, q3 = (float(np.percentile(values, q, method="midpoint")) for q in (25, 75))
    if kind == "tukey":
        # A whisker never ends inside its box, as it would where no value lies between the box and the fence.
        high = max(q3, *(value for value in values if value <= q3 + 1.5 * (q3 - q1)))
        low = min(q1, *(value for value in values if value >= q1 - 1.5 * (q3 - q1)))
    elif percentiles is None:
        low, high = min(values), max(values)
    else:
        low, high = (float(np.percentile(values, q)) for q in percentiles)
    outliers = [value for value in values if value > high] + [value for value in values if value < low]
    return [math.fsum(values) / len(values), float(np.median(values)), high, low, q1, q3, len(values), outliers]


@pytest.mark.slow
@given(table=tables(numbers=NUMBERS), whiskers=WHISKERS)
def test_each_box_is_that_of_its_group_alone(
    table: pd.DataFrame, whiskers: tuple[str, tuple[float, float] | None]
) -> None:
    kind, percentiles = whiskers
    result = postprocessing.boxplot(table, groupby=["k"], metrics=["x"], whisker_type=kind, percentiles=percentiles)
    groups: dict[Any, list[float]] = {}
    for key, value in zip(cells(table["k"]), cells(table["x"]), strict=True):
        groups.setdefault(key, []).extend([] if value is None else [value])
    assert cells(result["k"]) == sorted(key for key in groups if key is not None) + [None] * (None in groups)
    for row, key in enumerate(cells(result["k"])):
        made = [cells(result[name])[row] for name in result.columns[1:]]
        expected = box_of(groups[key], kind, percentiles) if groups[key] else [None] * 6 + [0, []]
        assert made[6:7] == expected[6:7]
        assert made[7] == (expected[7] if kind != "percentile" else made[7])
        for one, other in zip(made[:6], expected[:6], strict=True):
            assert one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.slow
@given(table=tables(numbers=NUMBERS))
def test_values_within_the_whiskers_and_outliers_are_all_values(table: pd.DataFrame) -> None:
    result = postprocessing.boxplot(table, groupby="k", metrics="x", whisker_type="percentile", percentiles=[10, 90])
    values = dict.fromkeys(cells(result["k"]), 0)
    bounds = dict(
        zip(cells(result["k"]), zip(cells(result["x__min"]), cells(result["x__max"]), strict=True), strict=True)
    )
    for key, value in zip(cells(table["k"]), cells(table["x"]), strict=True):
        if value is not None:
            low, high = bounds[key]
            values[key] += low <= value <= high
    for key, count, outliers in zip(values, cells(result["x__count"]), result["x__outliers"], strict=True):
        assert values[key] + len(outliers) == count
