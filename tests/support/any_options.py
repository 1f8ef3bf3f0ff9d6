"""Options to try every operation with: valid ones most often, of columns that are there most often."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.support.any_frames import LABELS

from analytics_core._engine.frames.registry import Operations
from analytics_core.models import postprocessing as models

WITHOUT_FORECAST = sorted({*Operations()} - {"forecast"})
NAME = st.sampled_from([*["k", "x", "y"] * 5, *LABELS, "missing"])
NEW = st.sampled_from([*LABELS, "new", "", "new, b"])
NAMES = st.one_of(st.lists(NAME, max_size=2), NAME, st.none())
MAPS = st.one_of(st.dictionaries(NAME, NEW, max_size=2), st.none())
FLAG = st.sampled_from([True, False, None])
JUNK: list[Any] = [-1, 0, 1.5, "", "zz", [], {}, True, float("nan"), 10**30]
JUNK_OR_NONE = st.sampled_from([None] * 30 + JUNK)
SPECS = st.fixed_dictionaries(
    {
        "operator": st.sampled_from(list(models.AggregateOperator)),
        "options": st.just({"q": 40}),
        "column": st.one_of(NAME, NAME, NAME, NEW),
    }
)
AGGREGATES = st.dictionaries(NEW, SPECS, min_size=1, max_size=2)
TYPE_OPTIONS: list[dict[str, Any]] = [
    *[{}] * 6,
    *[{"q": 40}, {"quantile": 0.3, "interpolation": "lower"}, {"ddof": 0}, {"ddof": -1}, {"other": "k"}],
    *[{"std": 2.0}, {"p": 1, "sig": 2}, {"beta": 3}, {"tau": 2}, {"center": 1}, {"width": 0.5}, {"sym": False}],
]
NEEDED: dict[str, dict[str, Any]] = {
    "percentile": {"q": 40, "interpolation": "nearest"},
    "nanpercentile": {"q": 100},
    "quantile": {"quantile": 0.5},
    "corr": {"other": "x"},
    "cov": {"other": "y", "ddof": 0},
    "kaiser": {"beta": 3},
    "gaussian": {"std": 2.0},
    "general_gaussian": {"p": 1, "sig": 2},
    "slepian": {"width": 0.5},
}
SEASON = st.sampled_from([True, False, None, 2])
RULE = st.sampled_from(
    ["1D", "12h", "1MS", "1ME", "1W", "13min", "1B", "100YS", "1ns", "1us", "0D", "-1D", "", "1x", "2W-FRI"]
)

OPTIONS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "aggregate": {"groupby": NAMES, "aggregates": AGGREGATES},
    "boxplot": {
        "groupby": NAMES,
        "metrics": NAMES,
        "whisker_type": st.sampled_from(list(models.WhiskerType)),
        "percentiles": st.sampled_from([[10, 90], [90, 10], None, [0, 100]]),
    },
    "compare": {
        "source_columns": NAMES,
        "compare_columns": NAMES,
        "compare_type": st.sampled_from(list(models.CompareType)),
        "drop_original_columns": FLAG,
        "precision": st.integers(0, 15),
    },
    "contribution": {
        "orientation": st.sampled_from(["row", "column", None]),
        "columns": NAMES,
        "rename_columns": st.one_of(st.none(), st.lists(NEW, max_size=3)),
        "time_shifts": st.sampled_from([[], ["y"], None]),
        "contribution_totals": st.one_of(st.none(), st.dictionaries(NAME, st.sampled_from([0, 2.5, None]))),
    },
    "cum": {"operator": st.sampled_from(list(models.CumulativeOperator)), "columns": MAPS},
    "diff": {"columns": MAPS, "periods": st.integers(-3, 8), "axis": st.sampled_from([0, 1, "row", "column"])},
    "escape_separator": {},
    "flatten": {
        "reset_index": FLAG,
        "drop_levels": st.lists(st.sampled_from([0, 1, -1, 5, "k", "metric", "missing"]), max_size=2),
    },
    "forecast": {
        "time_grain": st.sampled_from(["P1D", "P1M", "P1W", "PT1H", "P1Y", "P3M", "PT1S"]),
        "periods": st.integers(0, 4),
        "confidence_interval": st.sampled_from([0.8, 0.5]),
        "weekly_seasonality": SEASON,
        "monthly_seasonality": SEASON,
        "yearly_seasonality": SEASON,
        "index": st.one_of(st.none(), NAME),
        "model": st.sampled_from([None, "ets", "theta"]),
    },
    "geodetic_parse": {"geodetic": NAME, "latitude": NEW, "longitude": NEW, "altitude": st.one_of(st.none(), NEW)},
    "geohash_decode": {"geohash": NAME, "latitude": NEW, "longitude": NEW},
    "geohash_encode": {"geohash": NEW, "latitude": NAME, "longitude": NAME},
    "histogram": {"column": NAME, "groupby": NAMES, "bins": st.integers(1, 9), "cumulative": FLAG, "normalize": FLAG},
    "pivot": {
        "index": st.one_of(st.lists(NAME, min_size=1, max_size=2, unique=True), NAMES),
        "columns": st.one_of(st.sampled_from([[], ["k"], ["y"]]), NAMES),
        "aggregates": AGGREGATES,
        "column_fill_value": st.sampled_from(["<NULL>", "a", "", None]),
        "metric_fill_value": st.sampled_from([None, 0, -1.5]),
        "drop_missing_columns": FLAG,
        "combine_value_with_metric": FLAG,
        "marginal_distributions": FLAG,
        "marginal_distribution_name": st.sampled_from(["All", "a", None, ""]),
    },
    "rank": {"metric": NAME, "group_by": NAMES},
    "rename": {
        "columns": st.dictionaries(NAME, st.one_of(NEW, st.none()), max_size=2),
        "level": st.sampled_from([None, 0, 1, -1, 9, "k", "metric"]),
        "inplace": FLAG,
    },
    "resample": {
        "rule": RULE,
        "method": st.sampled_from(list(models.ResampleMethod)),
        "fill_value": st.sampled_from([None, 0, 1.5, -1]),
    },
    "rolling": {
        "rolling_type": st.sampled_from(list(models.RollingType)),
        "window": st.sampled_from([1, 2, 3, 7, 10**9, 10**18]),
        "columns": MAPS,
        "min_periods": st.sampled_from([None, 0, 1, 2, 7]),
        "center": FLAG,
        "win_type": st.sampled_from([None, None, None, *models.WindowType]),
        "rolling_type_options": st.sampled_from(TYPE_OPTIONS),
    },
    "select": {"columns": NAMES, "exclude": NAMES, "rename": MAPS},
    "sort": {
        "columns": st.one_of(st.none(), st.dictionaries(NAME, st.booleans(), max_size=2)),
        "by": NAMES,
        "ascending": st.one_of(st.booleans(), st.lists(st.booleans(), max_size=2), st.none()),
        "is_sort_index": FLAG,
    },
    "unescape_separator": {},
}


@st.composite
def options_of(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Return options, those of rolling most often with what its type and its weights need."""
    options = draw(st.fixed_dictionaries(OPTIONS[name]))
    if name == "rolling" and draw(st.integers(0, 3)):
        needed = [NEEDED.get(options[key], {}) for key in ("rolling_type", "win_type")]
        options["rolling_type_options"] = {key: value for each in needed for key, value in each.items()}
    return options
