"""The options of the post-processing operations (contract, Operation options).

What the contract shows of an operation is always accepted; the newer shapes that real clients send are accepted too.
Keys beyond both are kept and reported, not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, Strict, model_validator

from analytics_core.models.base import Bool, Flag, Integer, LenientShape, Name, NullMeans, Number, Omittable
from analytics_core.models.enums import TimeGrain

On = Annotated[bool, Strict(), NullMeans(True)]
"""true or false; null means true."""


class OperationOptions(LenientShape):
    """The options of one operation; each operation has a subclass of its own."""

    def unread(self) -> tuple[str, ...]:
        """Return the names of what was given and has no effect, sorted."""
        return tuple(sorted(self.model_extra or {}))


class AggregateOperator(StrEnum):
    """How many values become one (contract, `aggregates`); the last three are in use beside the contract's."""

    AVERAGE = "average"
    ARGMIN = "argmin"
    ARGMAX = "argmax"
    CUMSUM = "cumsum"
    CUMPROD = "cumprod"
    MAX = "max"
    MEAN = "mean"
    MEDIAN = "median"
    NANSUM = "nansum"
    NANMIN = "nanmin"
    NANMAX = "nanmax"
    NANMEAN = "nanmean"
    NANMEDIAN = "nanmedian"
    MIN = "min"
    PERCENTILE = "percentile"
    PROD = "prod"
    PRODUCT = "product"
    STD = "std"
    SUM = "sum"
    VAR = "var"
    COUNT = "count"
    COUNT_NONZERO = "count_nonzero"
    NANPERCENTILE = "nanpercentile"


class Orientation(StrEnum):
    """What a contribution is a share of: the row's total or the column's."""

    ROW = "row"
    COLUMN = "column"


class CompareType(StrEnum):
    """How `compare` sets two columns against each other."""

    DIFFERENCE = "difference"
    PERCENTAGE = "percentage"
    RATIO = "ratio"


class WhiskerType(StrEnum):
    """Where the whiskers of a box plot end (contract, `whisker_type`)."""

    TUKEY = "tukey"
    MIN_MAX = "min/max"
    PERCENTILE = "percentile"


class CumulativeOperator(StrEnum):
    """What `cum` runs along a column."""

    SUM = "sum"
    PROD = "prod"
    MIN = "min"
    MAX = "max"


class ForecastModel(StrEnum):
    """The method of `forecast`: our own combination, or a textbook model."""

    AUTO = "auto"
    ETS = "ets"
    THETA = "theta"
    MSTL = "mstl"
    SARIMAX = "sarimax"


class WindowType(StrEnum):
    """The weights inside a rolling window (contract, `win_type`)."""

    BOXCAR = "boxcar"
    TRIANG = "triang"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    BARTLETT = "bartlett"
    PARZEN = "parzen"
    BOHMAN = "bohman"
    BLACKMANHARRIS = "blackmanharris"
    NUTTALL = "nuttall"
    BARTHANN = "barthann"
    KAISER = "kaiser"
    GAUSSIAN = "gaussian"
    GENERAL_GAUSSIAN = "general_gaussian"
    SLEPIAN = "slepian"
    EXPONENTIAL = "exponential"


class RollingType(StrEnum):
    """What `rolling` makes of a window (contract, `rolling_type`); the last six are in use beside the contract's."""

    AVERAGE = "average"
    ARGMIN = "argmin"
    ARGMAX = "argmax"
    CUMSUM = "cumsum"
    CUMPROD = "cumprod"
    MAX = "max"
    MEAN = "mean"
    MEDIAN = "median"
    NANSUM = "nansum"
    NANMIN = "nanmin"
    NANMAX = "nanmax"
    NANMEAN = "nanmean"
    NANMEDIAN = "nanmedian"
    NANPERCENTILE = "nanpercentile"
    MIN = "min"
    PERCENTILE = "percentile"
    PROD = "prod"
    PRODUCT = "product"
    STD = "std"
    SUM = "sum"
    VAR = "var"
    COUNT = "count"
    CORR = "corr"
    COV = "cov"
    KURT = "kurt"
    SKEW = "skew"
    QUANTILE = "quantile"


class ResampleMethod(StrEnum):
    """What `resample` puts at the moments of the new grid."""

    ASFREQ = "asfreq"
    BFILL = "bfill"
    FFILL = "ffill"
    LINEAR = "linear"
    MEDIAN = "median"
    MEAN = "mean"
    SUM = "sum"


_PERCENTILES: Final = (AggregateOperator.PERCENTILE, AggregateOperator.NANPERCENTILE)


class AggregateSpec(LenientShape):
    """One aggregate: `operator` over `column`; without a column, over the column of the aggregate's own name.

    `options.q` is the percentile to take, from 0 to 100.
    """

    column: Omittable[Name] = None
    operator: Omittable[AggregateOperator] = None
    options: Annotated[dict[str, Any], NullMeans({})] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_percentile(self) -> AggregateSpec:
        if self.operator in _PERCENTILES:
            q = self.options.get("q")
            if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 100:
                raise ValueError(f"{self.operator.value} needs options.q, a number from 0 to 100")
        return self

    def unread(self) -> tuple[str, ...]:
        """Return the names of what was given and has no effect."""
        read = ("q",) if self.operator in _PERCENTILES else ()
        return (*(self.model_extra or {}), *(f"options.{name}" for name in self.options if name not in read))


Aggregates = Annotated[dict[Name, AggregateSpec], NullMeans({})]
"""New columns and how each is made."""


class _AggregatingOptions(OperationOptions):
    aggregates: Aggregates = Field(default_factory=dict)

    def unread(self) -> tuple[str, ...]:
        """Return the names of what was given and has no effect, sorted; also those inside of aggregates."""
        inside = (f"aggregates.{name}.{key}" for name, spec in self.aggregates.items() for key in spec.unread())
        return tuple(sorted((*super().unread(), *inside)))


def _one_or_more(value: Any) -> Any:
    """Return a list for one item."""
    return value if isinstance(value, list | tuple) else (value,)


def _one_map(value: Any) -> Any:
    """Return one map for an array of maps, as the contract has it."""
    if not isinstance(value, list | tuple):
        return value
    if not all(isinstance(item, Mapping) for item in value):
        raise ValueError("must be an object that maps old names to new ones, or an array of such objects")
    return {old: new for item in value for old, new in item.items()}


Names = Annotated[tuple[Name, ...], BeforeValidator(_one_or_more), NullMeans(())]
"""Column names; one name stands for a list of it, null for none."""

NameMap = Annotated[
    dict[Name, Name],
    BeforeValidator(_one_map, json_schema_input_type=dict[Name, Name] | list[dict[Name, Name]]),
    NullMeans({}),
]
"""Old names and new ones; an array of such maps is read as one."""


class AggregateOptions(_AggregatingOptions):
    """Options of `aggregate`: one row for each group, or one in all without `groupby`."""

    groupby: Names = ()


class BoxplotOptions(OperationOptions):
    """Options of `boxplot`; `percentiles` (lower, upper) are read for percentile whiskers.

    `groupby` null or absent makes one box in all, `metrics` null or absent takes every numeric column.
    """

    whisker_type: WhiskerType
    groupby: Names = ()
    metrics: Names | None = None
    percentiles: tuple[float, float] | None = None

    def unread(self) -> tuple[str, ...]:
        """Return the names of what was given and has no effect, sorted."""
        unread = self.percentiles is not None and self.whisker_type is not WhiskerType.PERCENTILE
        return tuple(sorted((*super().unread(), *(["percentiles"] if unread else []))))


class CompareOptions(OperationOptions):
    """Options of `compare`: each source column against the compare column at the same place."""

    source_columns: Names = ()
    compare_columns: Names = ()
    compare_type: CompareType = CompareType.DIFFERENCE
    drop_original_columns: Flag = False
    precision: Annotated[Integer, Field(ge=0, le=15)] = 4


class ContributionOptions(OperationOptions):
    """Options of `contribution`; `rename_columns` adds columns under these names and keeps the originals."""

    orientation: Annotated[Orientation, NullMeans(Orientation.COLUMN)] = Orientation.COLUMN
    columns: Names = ()
    time_shifts: Names = ()
    rename_columns: Names = ()
    contribution_totals: dict[Name, float | None] | None = None


class CumOptions(OperationOptions):
    """Options of `cum`: source columns and the names of the results."""

    operator: CumulativeOperator
    columns: NameMap = Field(default_factory=dict)


class DiffOptions(OperationOptions):
    """Options of `diff`: source columns and the names of the results; `axis` 0 goes down rows, 1 across columns."""

    columns: NameMap = Field(default_factory=dict)
    periods: Integer = 1
    axis: Annotated[
        Integer, Field(ge=0, le=1), BeforeValidator(lambda value: {"row": 0, "column": 1}.get(str(value), value))
    ] = 0


def _level(value: Any) -> Any:
    if isinstance(value, int | str) and not isinstance(value, bool):
        return value
    raise ValueError("must be the name of a level, or its position as an integer")


Level = Annotated[Integer | Name, BeforeValidator(_level)]
"""A level of the labels of columns, by its name or its position."""


class FlattenOptions(OperationOptions):
    """Options of `flatten`: `drop_levels` names levels of the columns, or counts them from 0."""

    reset_index: On = True
    drop_levels: Annotated[tuple[Level, ...], BeforeValidator(_one_or_more), NullMeans(())] = ()


def _seasonality(value: Any) -> Any:
    if value is None or isinstance(value, bool) or (isinstance(value, int) and value >= 0):
        return value
    raise ValueError("must be true, false, a Fourier order (an integer, 0 or more) or null")


Seasonality = Annotated[Bool | Annotated[Integer, Field(ge=0)] | None, BeforeValidator(_seasonality)]
"""Forced or left out, a Fourier order, or null: detected."""


class ForecastOptions(OperationOptions):
    """Options of `forecast`: `periods` counts steps of `time_grain`; an interval of 1 has no ends.

    A seasonality is true, false, a Fourier order, or null: detect it. `index` names the time column. `model` is ours:
    the contract has none.
    """

    confidence_interval: Annotated[Number, Field(ge=0, le=1)]
    periods: Annotated[Integer, Field(ge=0)]
    time_grain: TimeGrain
    weekly_seasonality: Seasonality = None
    monthly_seasonality: Seasonality = None
    yearly_seasonality: Seasonality = None
    index: Name | None = None
    model: Annotated[ForecastModel, NullMeans(ForecastModel.AUTO)] = ForecastModel.AUTO


class GeodeticParseOptions(OperationOptions):
    """Options of `geodetic_parse`: the source column, and the columns to make of it; `altitude` only if named."""

    geodetic: Name
    latitude: Name
    longitude: Name
    altitude: Name | None = None


class GeohashDecodeOptions(OperationOptions):
    """Options of `geohash_decode`: the column of geohashes, and the columns to make of it."""

    geohash: Name
    latitude: Name
    longitude: Name


class GeohashEncodeOptions(OperationOptions):
    """Options of `geohash_encode`: the column to make, and the columns of degrees it is made of."""

    geohash: Name
    latitude: Name
    longitude: Name


class HistogramOptions(OperationOptions):
    """Options of `histogram`: `bins` equal parts between the least and the greatest value of `column`."""

    column: Name
    groupby: Names = ()
    bins: Annotated[Integer, Field(ge=1, le=10_000)] = 5
    cumulative: Flag = False
    normalize: Flag = False


class PivotOptions(_AggregatingOptions):
    """Options of `pivot`: `index` down, the values of `columns` across, `aggregates` in the cells.

    `column_fill_value` stands for a null in `columns`; null or "" leaves the rows with such nulls out.
    """

    index: Names = ()
    columns: Names = ()
    column_fill_value: Name | None = "<NULL>"
    metric_fill_value: Number | None = None
    drop_missing_columns: On = True
    combine_value_with_metric: Flag = False
    marginal_distributions: Flag = False
    marginal_distribution_name: Annotated[
        Name, BeforeValidator(lambda value: "All" if value == "" else value), NullMeans("All")
    ] = "All"


class RankOptions(OperationOptions):
    """Options of `rank`: the column to rank, in all or within each group."""

    metric: Name
    group_by: Names = ()


class RenameOptions(OperationOptions):
    """Options of `rename`: old labels and new ones; null leaves the label out of a joined name.

    `level` names or counts the level of the columns; `inplace` is accepted and without effect: inputs never change.
    """

    columns: dict[Name, Name | None] = Field(default_factory=dict)
    inplace: Flag = False
    level: Level | None = None


class ResampleOptions(OperationOptions):
    """Options of `resample`: `rule` is an interval such as `1D`, `15min` or `1MS`."""

    rule: Name
    method: ResampleMethod
    fill_value: Number | None = None


class RollingOptions(OperationOptions):
    """Options of `rolling`: `window` counts rows, which are days at a daily grain.

    Without `columns` every numeric column is taken. `min_periods` is how many values a window needs; it counts as
    `window` when null or absent, and as 0 for `count`.
    """

    rolling_type: RollingType
    window: Annotated[Integer, Field(ge=1)]
    columns: NameMap = Field(default_factory=dict)
    min_periods: Annotated[Integer, Field(ge=0)] | None = None
    center: Flag = False
    win_type: WindowType | None = None
    rolling_type_options: Annotated[dict[str, Any], NullMeans({})] = Field(default_factory=dict)


class SelectOptions(OperationOptions):
    """Options of `select`: choose, drop, then rename; all speak of the original names."""

    columns: Names = ()
    exclude: Names = ()
    rename: NameMap = Field(default_factory=dict)

    def unread(self) -> tuple[str, ...]:
        """Return the names of what was given and has no effect, sorted; also new names of columns that are left out."""
        gone = {name for name in self.rename if name in self.exclude or (self.columns and name not in self.columns)}
        return tuple(sorted((*super().unread(), *(f"rename.{name}" for name in gone))))


class SeparatorOptions(OperationOptions):
    """Options of `escape_separator` and `unescape_separator`: there are none."""


class SortOptions(OperationOptions):
    """Options of `sort`: `columns` maps names to true for ascending; `by` with `ascending` is the newer form.

    The index goes before `by`, and this before `columns`. `aggregates` stands in the contract and has no effect: a
    step `aggregate` does that.
    """

    columns: Annotated[dict[Name, Bool], NullMeans({})] = Field(default_factory=dict)
    aggregates: Aggregates = Field(default_factory=dict)
    by: Names = ()
    ascending: Annotated[tuple[Bool, ...], BeforeValidator(_one_or_more), NullMeans(())] = ()
    is_sort_index: Flag = False

    def unread(self) -> tuple[str, ...]:
        """Return the names of what was given and has no effect, sorted."""
        unread = {
            "aggregates": bool(self.aggregates),
            "by": bool(self.by) and self.is_sort_index,
            "columns": bool(self.columns) and (bool(self.by) or self.is_sort_index),
        }
        return tuple(sorted((*super().unread(), *(name for name, given in unread.items() if given))))


OPTIONS: Final[Mapping[str, type[OperationOptions]]] = {
    "aggregate": AggregateOptions,
    "boxplot": BoxplotOptions,
    "compare": CompareOptions,
    "contribution": ContributionOptions,
    "cum": CumOptions,
    "diff": DiffOptions,
    "escape_separator": SeparatorOptions,
    "flatten": FlattenOptions,
    "forecast": ForecastOptions,
    "geodetic_parse": GeodeticParseOptions,
    "geohash_decode": GeohashDecodeOptions,
    "geohash_encode": GeohashEncodeOptions,
    "histogram": HistogramOptions,
    "pivot": PivotOptions,
    "rank": RankOptions,
    "rename": RenameOptions,
    "resample": ResampleOptions,
    "rolling": RollingOptions,
    "select": SelectOptions,
    "sort": SortOptions,
    "unescape_separator": SeparatorOptions,
}
"""The operations of this package, each with the shape of its options."""
