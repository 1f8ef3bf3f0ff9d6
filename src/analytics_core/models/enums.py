"""The closed lists of the contract: operators, grains, aggregates, result types (section Chart data query)."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class DatasourceType(StrEnum):
    """What a query may name as its source (contract, enum `datasource_type`)."""

    SL_TABLE = "sl_table"
    TABLE = "table"
    DATASET = "dataset"
    QUERY = "query"
    SAVED_QUERY = "saved_query"
    VIEW = "view"


class ResultType(StrEnum):
    """What a query context asks for (contract, `result_type`)."""

    COLUMNS = "columns"
    FULL = "full"
    QUERY = "query"
    RESULTS = "results"
    SAMPLES = "samples"
    TIMEGRAINS = "timegrains"
    POST_PROCESSED = "post_processed"
    DRILL_DETAIL = "drill_detail"


class ResultFormat(StrEnum):
    """How an answer is written (contract, `result_format`)."""

    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"


class PictureFormat(StrEnum):
    """How a picture is written."""

    SVG = "svg"
    PNG = "png"
    PDF = "pdf"


class QueryStatus(StrEnum):
    """The state of one query's result (contract, `ChartDataResponseResult.status`)."""

    STOPPED = "stopped"
    FAILED = "failed"
    PENDING = "pending"
    RUNNING = "running"
    SCHEDULED = "scheduled"
    SUCCESS = "success"
    TIMED_OUT = "timed_out"


class JobState(StrEnum):
    """Where a job stands; `lost` is one whose process died, or that nobody ever began."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    STOPPED = "stopped"
    TIMED_OUT = "timed_out"
    LOST = "lost"

    @property
    def is_over(self) -> bool:
        """Tell whether the job has its last state."""
        return self not in (JobState.PENDING, JobState.RUNNING)


class FilterOperator(StrEnum):
    """How a filter compares (contract, `ChartDataFilter.op`; NOT LIKE and NOT ILIKE are ours)."""

    EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER = ">"
    LESS = "<"
    GREATER_OR_EQUAL = ">="
    LESS_OR_EQUAL = "<="
    LIKE = "LIKE"
    NOT_LIKE = "NOT LIKE"
    ILIKE = "ILIKE"
    NOT_ILIKE = "NOT ILIKE"
    IS_NULL = "IS NULL"
    IS_NOT_NULL = "IS NOT NULL"
    IN = "IN"
    NOT_IN = "NOT IN"
    IS_TRUE = "IS TRUE"
    IS_FALSE = "IS FALSE"
    TEMPORAL_RANGE = "TEMPORAL_RANGE"


class ExpressionType(StrEnum):
    """How an ad-hoc column or metric is given (contract, `ChartDataAdhocMetricSchema.expressionType`)."""

    SIMPLE = "SIMPLE"
    SQL = "SQL"


class Aggregate(StrEnum):
    """The aggregates of a SIMPLE ad-hoc metric (contract, `ChartDataAdhocMetricSchema.aggregate`)."""

    AVG = "AVG"
    COUNT = "COUNT"
    COUNT_DISTINCT = "COUNT_DISTINCT"
    MAX = "MAX"
    MIN = "MIN"
    SUM = "SUM"


class RelativeTime(StrEnum):
    """What an open end of a relative range runs to (contract, extras `relative_start`, `relative_end`)."""

    TODAY = "today"
    NOW = "now"


class GenericType(IntEnum):
    """The codes of `coltypes` (contract, `ChartDataResponseResult.coltypes`)."""

    NUMERIC = 0
    STRING = 1
    TEMPORAL = 2
    BOOLEAN = 3


class TimeGrain(StrEnum):
    """The time grains of the contract (`time_grain_orm`).

    Weeks start on Monday unless the anchor says otherwise. `WEEK_STARTING_*` label a week by its first day,
    `WEEK_ENDING_*` by its last. PT10H counts from 1970-01-01 00:00 UTC and does not restart at midnight. `P0.25Y` is
    read as P3M, `PT0.5H` as PT30M.
    """

    SECOND = "PT1S"
    FIVE_SECONDS = "PT5S"
    THIRTY_SECONDS = "PT30S"
    MINUTE = "PT1M"
    FIVE_MINUTES = "PT5M"
    TEN_MINUTES = "PT10M"
    FIFTEEN_MINUTES = "PT15M"
    THIRTY_MINUTES = "PT30M"
    HOUR = "PT1H"
    TWO_HOURS = "PT2H"
    FOUR_HOURS = "PT4H"
    SIX_HOURS = "PT6H"
    EIGHT_HOURS = "PT8H"
    TEN_HOURS = "PT10H"
    TWELVE_HOURS = "PT12H"
    DAY = "P1D"
    WEEK = "P1W"
    MONTH = "P1M"
    QUARTER = "P3M"
    YEAR = "P1Y"
    WEEK_STARTING_SUNDAY = "1969-12-28T00:00:00Z/P1W"
    WEEK_STARTING_MONDAY = "1969-12-29T00:00:00Z/P1W"
    WEEK_ENDING_SATURDAY = "P1W/1970-01-03T00:00:00Z"
    WEEK_ENDING_SUNDAY = "P1W/1970-01-04T00:00:00Z"

    @classmethod
    def _missing_(cls, value: object) -> TimeGrain | None:
        """Return the grain that an older client spells with a fraction."""
        return {"P0.25Y": cls.QUARTER, "PT0.5H": cls.THIRTY_MINUTES}.get(value) if isinstance(value, str) else None


class ConfigurationMethod(StrEnum):
    """How a database connection was entered (contract, `configuration_method`); `sqlalchemy_form` is an older name."""

    ORM_FORM = "orm_form"
    DYNAMIC_FORM = "dynamic_form"

    @classmethod
    def _missing_(cls, value: object) -> ConfigurationMethod | None:
        return cls.ORM_FORM if value == "sqlalchemy_form" else None


class TagType(IntEnum):
    """The kinds of tags (contract, tag reference)."""

    CUSTOM = 1
    TYPE = 2
    OWNER = 3
    FAVORITED_BY = 4


class ReportType(StrEnum):
    """An alert runs when its query says so, a report on schedule."""

    ALERT = "Alert"
    REPORT = "Report"


class TableExists(StrEnum):
    """What an upload does where a table of its name exists."""

    FAIL = "fail"
    REPLACE = "replace"
    APPEND = "append"


class FileKind(StrEnum):
    """What a file is: delimited text, a workbook (XLSX), or Parquet."""

    CSV = "csv"
    EXCEL = "excel"
    COLUMNAR = "columnar"
