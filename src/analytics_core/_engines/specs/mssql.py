"""SQL Server: no Booleans, no truncation before 2022, and weeks that follow the session's DATEFIRST unless counted.

Not run here; written from its documentation. Days are counted from 0001-01-01, which was a Monday, so that nothing
depends on DATEFIRST. Trailing blanks never count in its comparisons; that cannot be changed by a collation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import MomentComparison, written_format, written_text
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.formats import fixed_width_format
from analytics_core._engines.grains import EPOCH, buckets_by_truncation, cut_by_remainder
from analytics_core._engines.kinds import kind_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import Type, call, minus, number, remainder, text, times, verbatim
from analytics_core._engines.positions import iso_text
from analytics_core._engines.spec import Bind, BindValue, EngineSpec, ParamStyle
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind

_COLLATION = "Latin1_General_100_BIN2"
_MONDAY = "0001-01-01"


# ------------------------------------------------------------------------------------------------------------ moments
def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _datetime(node: exp.Expr) -> exp.Expr:
    return nodes.cast(node, Type.TIMESTAMP)


def _date(node: exp.Expr) -> exp.Expr:
    return nodes.cast(node, Type.DATE)


def _in_utc(instant: exp.Expr) -> exp.Expr:
    return _datetime(call("SWITCHOFFSET", instant, text("+00:00")))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    parsed = written_format(time_format, parse=lambda source: fixed_width_format(source, engine="SQL Server"))
    return _datetime(iso_text(written_text(column, time_format, Type.VARCHAR), parsed, _part))


def _part(node: exp.Expr, start: int, length: int) -> exp.Expr:
    return call("SUBSTRING", node, number(start), number(length))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Add days and their rest apart: DATEADD takes 32-bit numbers. Both have the sign of the whole."""
    is_seconds = time_format.encoding is TimeEncoding.EPOCH_S
    unit, per_day, count = ("SECOND", 86_400, column) if is_seconds else ("MILLISECOND", 86_400_000, column)
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        millis = times(column, number(1000)) if is_seconds else column
        unit, per_day, count = "MILLISECOND", 86_400_000, nodes.cast(call("FLOOR", millis), Type.BIGINT)
    elif time_format.value_kind is ValueKind.TEXT:
        count = nodes.cast(column, Type.BIGINT)
    days = exp.Div(this=nodes.operand(count.copy()), expression=number(per_day), typed=True)
    day = call("DATEADD", verbatim("DAY"), days, _datetime(text(EPOCH)))
    return call("DATEADD", verbatim(unit), remainder(count, number(per_day)), day)


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: lambda column, _format: column,
        TimeEncoding.DATE: lambda column, _format: _datetime(column),
        TimeEncoding.TIMESTAMPTZ: lambda column, _format: _in_utc(column),
        TimeEncoding.ISO_TEXT: lambda column, _format: _in_utc(nodes.cast(column, Type.TIMESTAMPTZ)),
        TimeEncoding.TEXT: _written_moment,
        TimeEncoding.EPOCH_S: _epoch_moment,
        TimeEncoding.EPOCH_MS: _epoch_moment,
    }
)


# ------------------------------------------------------------------------------------------------------------ buckets
def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    calendar = _CALENDAR.get(unit)
    return _datetime(calendar(moment)) if calendar else _truncate_clock(moment, unit.upper())


def _truncate_clock(moment: exp.Expr, unit: str) -> exp.Expr:
    """Count whole units since midnight: since 1970 they would not fit into 32 bits."""
    midnight = _datetime(_date(moment.copy()))
    count = call("DATEDIFF", verbatim(unit), midnight.copy(), moment)
    return call("DATEADD", verbatim(unit), count, midnight)


def _monday(moment: exp.Expr) -> exp.Expr:
    days = call("DATEDIFF", verbatim("DAY"), _date(text(_MONDAY)), moment.copy())
    return call("DATEADD", verbatim("DAY"), exp.Neg(this=exp.Paren(this=remainder(days, number(7)))), _date(moment))


def _first_of_month(moment: exp.Expr) -> exp.Expr:
    return call("DATEFROMPARTS", call("YEAR", moment), call("MONTH", moment.copy()), number(1))


def _first_of_quarter(moment: exp.Expr) -> exp.Expr:
    quarter = call("DATEPART", verbatim("QUARTER"), moment.copy())
    return call("DATEFROMPARTS", call("YEAR", moment), minus(times(quarter, number(3)), number(2)), number(1))


def _first_of_year(moment: exp.Expr) -> exp.Expr:
    return call("DATEFROMPARTS", call("YEAR", moment), number(1), number(1))


_CALENDAR: Mapping[str, Callable[[exp.Expr], exp.Expr]] = MappingProxyType(
    {
        "day": _date,
        "week": _monday,
        "month": _first_of_month,
        "quarter": _first_of_quarter,
        "year": _first_of_year,
    }
)


def _add_days(moment: exp.Expr, days: int) -> exp.Expr:
    return call("DATEADD", verbatim("DAY"), number(days), moment)


def _seconds_since_epoch(second: exp.Expr) -> exp.Expr:
    return call("DATEDIFF_BIG", verbatim("SECOND"), _datetime(text(EPOCH)), second)


def _subtract_seconds(second: exp.Expr, past: exp.Expr) -> exp.Expr:
    return call("DATEADD", verbatim("SECOND"), exp.Neg(this=exp.Paren(this=past)), second)


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return call("DATEADD", verbatim("HOUR"), number(hours), moment) if hours else moment


# ---------------------------------------------------------------------------------------------------------- operators
def _as_text(node: exp.Expr) -> exp.Expr:
    length = exp.DataTypeParam(this=exp.Var(this="MAX"))
    return exp.Cast(this=node, to=exp.DataType(this=Type.NVARCHAR, expressions=[length]))


def _text_key(node: exp.Expr) -> exp.Expr:
    """Return the text as Unicode first: a collation on VARCHAR would change its code page."""
    return nodes.collate(_as_text(node), _COLLATION)


def _text_value(node: exp.Expr) -> exp.Expr:
    return nodes.collate(node, _COLLATION)


def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    def match(value: exp.Expr) -> exp.Expr:
        sides = (call("LOWER", left), call("LOWER", value)) if fold_case else (left, value)
        return exp.Like(this=nodes.operand(sides[0]), expression=_text_value(sides[1]))

    return operators.matching(match, pattern, bind, also_wild="[")


def _in_list(left: exp.Expr, values: Sequence[BindValue], kind: ValueKind, bind: Bind) -> exp.Expr:
    """Put the collation on the left: each member is compared with it apart."""
    side = _text_key(left) if isinstance(values[0], str) and kind is ValueKind.TEXT else nodes.operand(left)
    return exp.In(this=side, expressions=[bind(value) for value in values])


def _sum(node: exp.Expr, kind: ValueKind) -> exp.Expr:
    """Add as 64-bit numbers: the sum of 32-bit ones would have to fit into 32 bits."""
    is_whole = kind in (ValueKind.BOOLEAN, ValueKind.INTEGER)
    return exp.Sum(this=nodes.cast(node, Type.BIGINT) if is_whole else node)


_bucket = buckets_by_truncation(
    truncate=_truncate,
    add_days=_add_days,
    cut_seconds=cut_by_remainder(
        truncate=_truncate,
        seconds_since_epoch=_seconds_since_epoch,
        subtract_seconds=_subtract_seconds,
        modulo=remainder,
    ),
)
_COMPARISON = MomentComparison(moment=_moment)
_LITERALS = LiteralStyle(
    dialect="tsql",
    text="N{}",
    day="CAST({} AS DATE)",
    timestamp="CAST({} AS DATETIME2)",
    timestamp_tz="CAST({} AS DATETIMEOFFSET)",
    separator="T",
    binary="0x{}",
    true="1",
    false="0",
)
_KINDS: Mapping[str, ValueKind] = MappingProxyType({"BIT": ValueKind.BOOLEAN, "TIMESTAMP": ValueKind.BYTES})


def mssql_spec() -> EngineSpec:
    """Return the facts of SQL Server."""
    return EngineSpec(
        name="mssql",
        label="Microsoft SQL Server",
        dialect="tsql",
        drivers=("pyodbc",),
        paramstyle=ParamStyle.QMARK,
        extra_name="mssql",
        max_identifier_bytes=128,
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=_text_key,
        text_equal=_text_value,
        text_order=_text_value,
        like=_like,
        as_text=_as_text,
        average=operators.average_of_cast(),
        sum_=_sum,
        extreme=operators.extreme_by(_text_key),
        count_distinct=operators.count_distinct_by(_text_key),
        is_true=operators.is_true_of_bit,
        in_list=_in_list,
        literal=_LITERALS.write,
        value_kind=kind_reader(_KINDS),
        null_safe_equal=operators.null_safe_equal_spelled,
        allows_cte_in_subquery=False,
        error_patterns=ERROR_PATTERNS.get("mssql", ()),
        denied_functions=DENIED_FUNCTIONS["mssql"],
        allowed_functions=ALLOWED_FUNCTIONS["mssql"],
    )
