"""Post-processing by itself: every operation of the contract as a function on any DataFrame.

    from analytics_core import postprocessing

    table = postprocessing.pivot(
        orders, index=["day"], columns=["country"], aggregates={"sales": {"operator": "sum"}}
    )

The keyword arguments bear the names of the contract's options (section Operation options); None is the contract's null.
The DataFrame that is given never changes. Where something was done otherwise than asked, or an option has no effect,
`attrs["notes"]` of the answer tells it. What an operation gives, and where it departs from what is usual, is told in
docs/explanation/post-processing.md.

Raises (all functions):
    PostProcessingError: an option is missing or wrong, or the frame does not serve: the message names operation,
        option, the valid choices and the columns there are.
    LimitError: the result would be too large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from analytics_core._engine.frames.pipeline import Step, read_options, run_step
from analytics_core._engine.frames.registry import Operations
from analytics_core.errors import PostProcessingError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "aggregate",
    "boxplot",
    "compare",
    "contribution",
    "cum",
    "diff",
    "escape_separator",
    "flatten",
    "forecast",
    "geodetic_parse",
    "geohash_decode",
    "geohash_encode",
    "histogram",
    "pivot",
    "rank",
    "rename",
    "resample",
    "rolling",
    "select",
    "sort",
    "unescape_separator",
]

Names = str | Sequence[str]
"""One column name or several."""

Aggregates = Mapping[str, Mapping[str, Any]]
"""New columns and how each is made: `{"p90": {"column": "x", "operator": "percentile", "options": {"q": 90}}}`."""


if not TYPE_CHECKING:  # type checkers know the functions that are written out here

    def __getattr__(name: str) -> Callable[..., pd.DataFrame]:
        """Return the function of an operation that has none here; its options are keyword arguments too."""
        if name not in Operations():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return partial(_run, name)


def _run(name: str, /, frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Return what an operation makes of a frame; the functions below give it all of their arguments as they are."""
    if not hasattr(frame, "columns"):
        raise PostProcessingError(f"{name}: the first argument must be a DataFrame, not {type(frame).__name__}")
    from analytics_core._engine.frames.pandas_frames import unshared

    operation = Operations()[name]
    step = Step(place=name, operation=operation, options=read_options(operation, options, place=name))
    noted = run_step(step, unshared(frame))
    unread = (f"{name}: kept but not read: {', '.join(step.unread)}",) if step.unread else ()
    if unread or noted.notes:
        noted.frame.attrs["notes"] = (*unread, *noted.notes)
    return noted.frame


def aggregate(frame: pd.DataFrame, *, aggregates: Aggregates, groupby: Names = ()) -> pd.DataFrame:
    """Return one row for each group of `groupby`, keys first, or one row in all; null is a key too, the last."""
    return _run("aggregate", **locals())


def boxplot(
    frame: pd.DataFrame,
    *,
    whisker_type: str,
    groupby: Names | None = None,
    metrics: Names | None = None,
    percentiles: Sequence[float] | None = None,
) -> pd.DataFrame:
    """Return the boxes of metrics for each group: mean, median, whiskers, quartiles, count and outliers.

    `whisker_type` is tukey, min/max or percentile, which needs `percentiles`, a lower and an upper one.
    """
    return _run("boxplot", **locals())


def compare(
    frame: pd.DataFrame,
    *,
    source_columns: Names,
    compare_columns: Names,
    compare_type: str = "difference",
    drop_original_columns: bool = False,
    precision: int = 4,
) -> pd.DataFrame:
    """Return the frame with a column `TYPE__SOURCE__COMPARE` for each pair of columns.

    `compare_type` is difference (s - c), percentage ((s - c) / c) or ratio (s / c); the last two are rounded to
    `precision` digits.
    """
    return _run("compare", **locals())


def contribution(
    frame: pd.DataFrame,
    *,
    orientation: str = "column",
    columns: Names = (),
    rename_columns: Names = (),
    time_shifts: Names = (),
    contribution_totals: Mapping[str, float | None] | None = None,
) -> pd.DataFrame:
    """Return shares of each row's or each column's total, in place of the values or under `rename_columns`."""
    return _run("contribution", **locals())


def cum(frame: pd.DataFrame, *, operator: str, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return running results of sum, prod, min or max; `columns` maps sources to targets, None takes all numbers."""
    return _run("cum", **locals())


def diff(
    frame: pd.DataFrame, *, columns: Mapping[str, str] | None = None, periods: int = 1, axis: int | str = 0
) -> pd.DataFrame:
    """Return differences from the value `periods` rows (axis 0, "row") or columns (axis 1, "column") before.

    `columns` maps sources to targets, None takes all numbers.
    """
    return _run("diff", **locals())


def escape_separator(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with a backslash before every comma in the labels of its columns."""
    return _run("escape_separator", **locals())


def flatten(frame: pd.DataFrame, *, reset_index: bool = True, drop_levels: Sequence[int | str] = ()) -> pd.DataFrame:
    """Return the frame with labels of one level, parts joined by a comma and a blank, and its index as columns."""
    return _run("flatten", **locals())


def forecast(
    frame: pd.DataFrame,
    *,
    time_grain: str,
    periods: int,
    confidence_interval: float,
    weekly_seasonality: bool | int | None = None,
    monthly_seasonality: bool | int | None = None,
    yearly_seasonality: bool | int | None = None,
    index: str | None = None,
    model: str = "auto",
) -> pd.DataFrame:
    """Return `X__yhat`, `X__yhat_lower` and `X__yhat_upper` beside each numeric column, over history and future.

    A seasonality is true, false, a Fourier order, or None: detect it. `index` names the column of moments. `model` is
    auto, ets, theta, mstl or sarimax.
    """
    return _run("forecast", **locals())


def geodetic_parse(
    frame: pd.DataFrame, *, geodetic: str, latitude: str, longitude: str, altitude: str | None = None
) -> pd.DataFrame:
    """Return the frame with latitude and longitude (and altitude, if named) read from geodetic text."""
    return _run("geodetic_parse", **locals())


def geohash_decode(frame: pd.DataFrame, *, geohash: str, latitude: str, longitude: str) -> pd.DataFrame:
    """Return the frame with the degrees of the middle of each geohash."""
    return _run("geohash_decode", **locals())


def geohash_encode(frame: pd.DataFrame, *, geohash: str, latitude: str, longitude: str) -> pd.DataFrame:
    """Return the frame with a column of geohashes made of columns of degrees."""
    return _run("geohash_encode", **locals())


def histogram(
    frame: pd.DataFrame,
    *,
    column: str,
    groupby: Names = (),
    bins: int = 5,
    cumulative: bool = False,
    normalize: bool = False,
) -> pd.DataFrame:
    """Return how many values of `column` lie in each of `bins` equal parts of their range, for each group."""
    return _run("histogram", **locals())


def pivot(
    frame: pd.DataFrame,
    *,
    index: Names,
    aggregates: Aggregates,
    columns: Names = (),
    column_fill_value: str | None = "<NULL>",
    metric_fill_value: float | None = None,
    drop_missing_columns: bool = True,
    combine_value_with_metric: bool = False,
    marginal_distributions: bool = False,
    marginal_distribution_name: str = "All",
) -> pd.DataFrame:
    """Return a table with `index` as the index, the values of `columns` across and `aggregates` in the cells."""
    return _run("pivot", **locals())


def rank(frame: pd.DataFrame, *, metric: str, group_by: Names = ()) -> pd.DataFrame:
    """Return the frame with a column `rank`: the percentile rank of `metric`, in all or within each group."""
    return _run("rank", **locals())


def rename(
    frame: pd.DataFrame, *, columns: Mapping[str, str | None], level: int | str | None = None, inplace: bool = False
) -> pd.DataFrame:
    """Return the frame with new labels; `inplace` is accepted and without effect: the frame given never changes."""
    return _run("rename", **locals())


def resample(frame: pd.DataFrame, *, rule: str, method: str, fill_value: float | None = None) -> pd.DataFrame:
    """Return the frame on even intervals of `rule`; its index holds moments."""
    return _run("resample", **locals())


def rolling(
    frame: pd.DataFrame,
    *,
    rolling_type: str,
    window: int,
    columns: Mapping[str, str] | None = None,
    min_periods: int | None = None,
    center: bool = False,
    win_type: str | None = None,
    rolling_type_options: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Return results over the last `window` rows; `columns` maps sources to targets."""
    return _run("rolling", **locals())


def select(
    frame: pd.DataFrame, *, columns: Names = (), exclude: Names = (), rename: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return `columns` (all without it) but `exclude`, renamed; every option speaks of the names before renaming."""
    return _run("select", **locals())


def sort(
    frame: pd.DataFrame,
    *,
    columns: Mapping[str, bool] | None = None,
    by: Names = (),
    ascending: bool | Sequence[bool] = True,
    is_sort_index: bool = False,
    aggregates: Aggregates | None = None,
) -> pd.DataFrame:
    """Return the rows in order, nulls last: of `columns` (name to ascending), of `by`, or of the index.

    `aggregates`, which the contract lists, is accepted and without effect.
    """
    return _run("sort", **locals())


def unescape_separator(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with labels without the backslashes that `flatten` and `escape_separator` write."""
    return _run("unescape_separator", **locals())
