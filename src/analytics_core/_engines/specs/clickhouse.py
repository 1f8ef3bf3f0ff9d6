"""ClickHouse: moments are counted in microseconds of DateTime64, since its calendar functions begin in 1970.

Checked by hand on an embedded ClickHouse 26.9. Bounds travel as text, because the driver cuts fractions from datetimes.
Sessions need `join_use_nulls = 1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import MomentComparison, Zoned, written_format, written_text
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.formats import fixed_width_format
from analytics_core._engines.grains import SECONDS, WEEK_SHIFTS
from analytics_core._engines.kinds import kind_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import Type, call, minus, number, text, times
from analytics_core._engines.patterns import backslashed_like
from analytics_core._engines.positions import iso_text
from analytics_core._engines.spec import Bind, BindValue, EngineSpec, ParamStyle
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core.models.enums import TimeGrain

_SECOND = 1_000_000


# ------------------------------------------------------------------------------------------------------------ moments
def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _in_utc(column: exp.Expr, _format: TimeFormat) -> exp.Expr:
    return call("toDateTime64", column, number(6), text("UTC"))


def _iso_moment(column: exp.Expr, _format: TimeFormat) -> exp.Expr:
    """Parse with NULL for what is no moment: ClickHouse also evaluates rows that hold NULL, as empty text."""
    return call("parseDateTime64BestEffortOrNull", column, number(6), text("UTC"))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    parsed = written_format(time_format, parse=lambda source: fixed_width_format(source, engine="ClickHouse"))
    source = written_text(column, time_format, Type.TEXT)
    return call("toDateTime64OrNull", iso_text(source, parsed, _part), number(6), text("UTC"))


def _part(node: exp.Expr, start: int, length: int) -> exp.Expr:
    return call("substring", node, number(start), number(length))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    count = call("toInt64", column) if time_format.value_kind is ValueKind.TEXT else column
    factor = _SECOND if time_format.encoding is TimeEncoding.EPOCH_S else 1000
    return _from_micros(call("toInt64", call("floor", times(count, number(factor)))))


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: _in_utc,
        TimeEncoding.DATE: _in_utc,
        TimeEncoding.TIMESTAMPTZ: _in_utc,
        TimeEncoding.ISO_TEXT: _iso_moment,
        TimeEncoding.TEXT: _written_moment,
        TimeEncoding.EPOCH_S: _epoch_moment,
        TimeEncoding.EPOCH_MS: _epoch_moment,
    }
)


def _from_micros(micros: exp.Expr) -> exp.Expr:
    return call("fromUnixTimestamp64Micro", micros, text("UTC"))


# ------------------------------------------------------------------------------------------------------------ buckets
def _bucket(moment: exp.Expr, grain: TimeGrain) -> exp.Expr:
    if grain in SECONDS:
        micros = call("toUnixTimestamp64Micro", moment)
        past = call("positiveModulo", micros.copy(), number(SECONDS[grain] * _SECOND))
        return _from_micros(minus(micros, past))
    if grain in WEEK_SHIFTS:
        return _week(moment, *WEEK_SHIFTS[grain])
    return _CALENDAR[grain](moment)


def _midnight(day: exp.Expr) -> exp.Expr:
    return call("toDateTime64", day, number(6), text("UTC"))


def _week(moment: exp.Expr, before: int, after: int) -> exp.Expr:
    """Go back to the Monday by the day's number in its week (Monday is 1)."""
    day = call("toDate32", moment)
    if before:
        day = call("addDays", day, number(before))
    monday = call("subtractDays", day, minus(call("toDayOfWeek", day.copy()), number(1)))
    return _midnight(call("addDays", monday, number(after)) if after else monday)


def _month(moment: exp.Expr) -> exp.Expr:
    return _midnight(call("makeDate32", call("toYear", moment), call("toMonth", moment.copy()), number(1)))


def _quarter(moment: exp.Expr) -> exp.Expr:
    month = minus(times(call("toQuarter", moment.copy()), number(3)), number(2))
    return _midnight(call("makeDate32", call("toYear", moment), nodes.unwrapped(month), number(1)))


_CALENDAR: Mapping[TimeGrain, Callable[[exp.Expr], exp.Expr]] = MappingProxyType(
    {
        TimeGrain.DAY: lambda moment: _midnight(call("toDate32", moment)),
        TimeGrain.MONTH: _month,
        TimeGrain.QUARTER: _quarter,
        TimeGrain.YEAR: lambda moment: _midnight(call("makeDate32", call("toYear", moment), number(1), number(1))),
    }
)


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return call("addHours", moment, number(hours)) if hours else moment


# ---------------------------------------------------------------------------------------------------------- operators
def _as_text_value(moment: datetime) -> BindValue:
    return moment.isoformat(sep=" ")


def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    comparison = exp.ILike if fold_case else exp.Like
    return comparison(this=nodes.operand(left), expression=bind(backslashed_like(pattern)))


def _nulls_first(_descending: bool) -> bool:
    return False


_COMPARISON = MomentComparison(moment=_moment, zoned=Zoned.DECODED, write=_as_text_value)
_LITERALS = LiteralStyle(
    dialect="clickhouse",
    day="toDate32({})",
    timestamp="toDateTime64({}, 6, 'UTC')",
    timestamp_tz="parseDateTime64BestEffort({}, 6, 'UTC')",
    binary="unhex('{}')",
)
_KINDS: Mapping[str, ValueKind] = MappingProxyType(
    {"DATETIME": ValueKind.TIMESTAMPTZ, "DATETIME64": ValueKind.TIMESTAMPTZ, "DATETIME32": ValueKind.TIMESTAMPTZ}
)


def clickhouse_spec() -> EngineSpec:
    """Return the facts of ClickHouse."""
    return EngineSpec(
        name="clickhouse",
        label="ClickHouse",
        dialect="clickhouse",
        aliases=("clickhousedb",),
        drivers=("connect",),
        registered_as={"connect": "clickhousedb+connect"},
        paramstyle=ParamStyle.PYFORMAT,
        extra_name="clickhouse",
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=operators.unchanged,
        text_equal=operators.unchanged,
        text_order=operators.unchanged,
        like=_like,
        as_text=operators.calling("toString"),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(operators.unchanged),
        count_distinct=operators.count_distinct_by(operators.unchanged),
        is_true=operators.equals_truth,
        in_list=operators.in_list_of(),
        literal=_LITERALS.write,
        value_kind=kind_reader(_KINDS),
        null_safe_equal=operators.null_safe_equal,
        nulls_first_by_default=_nulls_first,
        error_patterns=ERROR_PATTERNS.get("clickhouse", ()),
        denied_functions=DENIED_FUNCTIONS["clickhouse"],
        allowed_functions=ALLOWED_FUNCTIONS["clickhouse"],
    )
