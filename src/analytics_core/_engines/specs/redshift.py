"""Redshift: PostgreSQL's syntax without its newer functions. Its buckets run on PostgreSQL too and are tested there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import MomentComparison, written_format, written_text
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.grains import EPOCH, buckets_by_truncation, cut_by_remainder
from analytics_core._engines.kinds import kind_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import Type, call, interval, minus, plus, text, times
from analytics_core._engines.spec import EngineSpec, ParamStyle
from analytics_core._engines.tokens import POSTGRES, write_tokens
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind


def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    parsed = written_format(time_format)
    source = written_text(column, time_format, Type.VARCHAR)
    function = "TO_TIMESTAMP" if parsed.has_clock() else "TO_DATE"
    return nodes.cast(call(function, source, text(write_tokens(parsed, POSTGRES))), Type.TIMESTAMP)


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    unit = "SECOND" if time_format.encoding is TimeEncoding.EPOCH_S else "MILLISECOND"
    count = nodes.cast(column, Type.BIGINT) if time_format.value_kind is ValueKind.TEXT else column
    return exp.Paren(this=exp.Add(this=nodes.timestamp(EPOCH), expression=times(count, interval(text("1"), unit))))


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: lambda column, _format: column,
        TimeEncoding.DATE: lambda column, _format: nodes.cast(column, Type.TIMESTAMP),
        TimeEncoding.TIMESTAMPTZ: lambda column, _format: nodes.utc(column),
        TimeEncoding.ISO_TEXT: lambda column, _format: nodes.utc(nodes.cast(column, Type.TIMESTAMPTZ)),
        TimeEncoding.TEXT: _written_moment,
        TimeEncoding.EPOCH_S: _epoch_moment,
        TimeEncoding.EPOCH_MS: _epoch_moment,
    }
)


def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    return call("DATE_TRUNC", text(unit), moment)


def _add(moment: exp.Expr, amount: int, unit: str) -> exp.Expr:
    operation = plus if amount > 0 else minus
    return operation(moment, interval(text(str(abs(amount))), unit))


def _add_days(moment: exp.Expr, days: int) -> exp.Expr:
    return _add(moment, days, "DAY")


def _seconds_since_epoch(second: exp.Expr) -> exp.Expr:
    return nodes.cast(exp.Extract(this=exp.Var(this="EPOCH"), expression=second), Type.BIGINT)


def _subtract_seconds(second: exp.Expr, past: exp.Expr) -> exp.Expr:
    return exp.Sub(this=second, expression=times(past, interval(text("1"), "SECOND")))


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return exp.Paren(this=_add(moment, hours, "HOUR")) if hours else moment


def _nulls_first(descending: bool) -> bool:
    return descending


_bucket = buckets_by_truncation(
    truncate=_truncate,
    add_days=_add_days,
    cut_seconds=cut_by_remainder(
        truncate=_truncate, seconds_since_epoch=_seconds_since_epoch, subtract_seconds=_subtract_seconds
    ),
)
_COMPARISON = MomentComparison(moment=_moment)
_LITERALS = LiteralStyle(dialect="redshift", timestamp_tz="TIMESTAMPTZ {}", binary="FROM_HEX('{}')")
_KINDS: Mapping[str, ValueKind] = MappingProxyType({"VARBYTE": ValueKind.BYTES, "OID": ValueKind.INTEGER})


def redshift_spec() -> EngineSpec:
    """Return the facts of Redshift."""
    return EngineSpec(
        name="redshift",
        label="Amazon Redshift",
        dialect="redshift",
        drivers=("psycopg2",),
        paramstyle=ParamStyle.PYFORMAT,
        extra_name="redshift",
        max_identifier_bytes=127,
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=operators.unchanged,
        text_equal=operators.unchanged,
        text_order=operators.unchanged,
        like=operators.like_where_case_counts(has_ilike=True),
        as_text=operators.cast_to(Type.VARCHAR),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(operators.unchanged),
        count_distinct=operators.count_distinct_by(operators.unchanged),
        is_true=operators.is_true,
        in_list=operators.in_list_of(),
        literal=_LITERALS.write,
        value_kind=kind_reader(_KINDS),
        null_safe_equal=operators.null_safe_equal_spelled,
        nulls_first_by_default=_nulls_first,
        error_patterns=ERROR_PATTERNS.get("redshift", ()),
        denied_functions=DENIED_FUNCTIONS["redshift"],
        allowed_functions=ALLOWED_FUNCTIONS["redshift"],
    )
