"""Druid: timestamps of milliseconds, cut by ISO 8601 periods. Not run here; written from its documentation.

Bounds travel as text, because the driver takes no datetimes. Distinct counts are exact only in sessions with
`useApproximateCountDistinct = false`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta

from sqlglot import exp

from analytics_core._engine.engines import bounds, fences, grains, guards, meanings, nodes, operators, tokens
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.nodes import Type, call, number, text, times
from analytics_core._engine.engines.spec import BindValue, TrustedAuthorities
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core.models.enums import TimeGrain


def _iso_moment(column: exp.Expr) -> exp.Expr:
    return call("TIME_PARSE", call("REPLACE", column, text(" "), text("T")), exp.Null(), text("UTC"))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    count = bounds.epoch_count(column, time_format)
    millis = times(count, number(1000)) if time_format.encoding is TimeEncoding.EPOCH_S else count
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        millis = nodes.cast(call("FLOOR", millis), Type.BIGINT)
    return call("MILLIS_TO_TIMESTAMP", millis)


def _bucket(moment: exp.Expr, grain: TimeGrain) -> exp.Expr:
    """Cut by the grain's period, which Druid counts from 1970; weeks begin on Mondays."""
    if grain not in grains.WEEK_SHIFTS:
        return _floor(moment, grain.value)
    before, after = grains.WEEK_SHIFTS[grain]
    return _moved(_floor(_moved(moment, "P1D", before), "P1W"), "P1D", after)


def _floor(moment: exp.Expr, period: str) -> exp.Expr:
    return call("TIME_FLOOR", moment, text(period), exp.Null(), text("UTC"))


def _moved(moment: exp.Expr, period: str, count: int) -> exp.Expr:
    return call("TIME_SHIFT", moment, text(period), number(count), text("UTC")) if count else moment


def _as_text_value(moment: datetime) -> BindValue:
    """Return ISO text in milliseconds, rounded up: no stored moment is finer."""
    rest = -moment.microsecond % 1000
    try:
        moment += timedelta(microseconds=rest)
    except OverflowError:
        moment -= timedelta(microseconds=1000 - rest)
    return moment.isoformat(sep=" ", timespec="milliseconds")


_moment = bounds.moments_by(
    date=operators.cast_to(Type.TIMESTAMP),
    timestamptz=operators.unchanged,
    iso_text=_iso_moment,
    text=bounds.parsed_by("TIME_PARSE", tokens.JAVA, Type.VARCHAR, "UTC"),
    epoch=_epoch_moment,
)
_ERRORS = meanings.patterns(
    (r"Object '(?P<table>[^']+)' not found", meanings.NO_TABLE),
    (r"Column '(?P<column>[^']+)' not found", meanings.NO_COLUMN),
    (r"No match found for function signature (?P<function>\w+)", meanings.NO_FUNCTION),
    (r"is not being grouped", meanings.NOT_GROUPED),
    (r"SQL parse failed|Encountered|Received an unexpected token", meanings.SYNTAX),
    (r"Unauthorized|\b401\b", meanings.BAD_LOGIN),
    (r"Forbidden|\b403\b", meanings.DENIED_ANY),
    (r"Query timeout|QueryTimeoutException", meanings.TIMEOUT),
    (r"Connection refused", meanings.REFUSED_PORT),
)
_GUARDS = guards.Guards(
    uri_options=guards.uri_options(numbers="timeout", header=guards.SWITCH),
    database_files=guards.DatabaseFiles.NONE,
    denied_functions=guards.name_set(
        "extern http s3 hdfs localfiles inline azure azurestorage googlecloud table_append external"
    ),
    allowed_functions=guards.allowed_with("""
    approx_count_distinct_ds_hll approx_count_distinct_ds_theta approx_count_distinct_builtin approx_quantile_ds
    approx_quantile_fixed_buckets array_* bitwise_* bloom_filter_test contains_string ds_* earliest earliest_by
    hll_sketch_* human_readable_binary_byte_format human_readable_decimal_byte_format human_readable_decimal_format
    icontains_string ipv4_match ipv4_parse ipv4_stringify json_keys json_object json_paths latest latest_by
    millis_to_timestamp mv_* parse_json parse_long safe_divide string_format string_to_array theta_sketch_* time_ceil
    time_extract time_floor time_format time_in_interval time_parse time_shift timestamp_to_millis to_json_string
    try_parse_json strlen textcat
"""),
    row_makers=frozenset(),
    revealing=guards.RevealingRelations.of(relations="", schemas="sys", harmless="", functions=""),
    table_names=guards.STANDARD_TABLE_NAMES,
    fence=fences.limited_by_bigint,
    by_case=False,
    casts_columns=True,
)

ENGINES = (
    replace(
        ansi_engine(
            name="druid",
            label="Apache Druid",
            dialect="druid",
            drivers=("http", "https"),
            extra_name="druid",
            guards=_GUARDS,
            error_patterns=_ERRORS,
            comparison=bounds.MomentComparison(
                moment=_moment, zoned=bounds.ZonedComparison.NAIVE, write=_as_text_value, write_day=date.isoformat
            ),
            bucket=_bucket,
            shift=lambda moment, hours: _moved(moment, "PT1H", hours),
        ),
        allows_joins=False,
        authorities=TrustedAuthorities.given_by(
            "ssl_verify_cert", scheme="https"
        ),  # also where the driver of the URI is `http`
    ),
)
