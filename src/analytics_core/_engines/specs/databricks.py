"""Databricks, and Spark (Hive's protocol) with the same functions; sessions run in UTC.

Not run here; written from the documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import fences, nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import MomentComparison, Zoned, written_format, written_text
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.grains import buckets_by_truncation
from analytics_core._engines.kinds import kind_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import Type, call, interval, minus, number, plus, text, times
from analytics_core._engines.spec import EngineSpec, ParamStyle
from analytics_core._engines.tokens import JAVA, write_tokens
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind


def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    source = written_text(column, time_format, Type.TEXT)
    return call("TO_TIMESTAMP", source, text(write_tokens(written_format(time_format), JAVA)))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    is_seconds = time_format.encoding is TimeEncoding.EPOCH_S
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        micros = call("FLOOR", times(column, number(1_000_000 if is_seconds else 1000)))
        return call("TIMESTAMP_MICROS", nodes.cast(micros, Type.BIGINT))
    count = nodes.cast(column, Type.BIGINT) if time_format.value_kind is ValueKind.TEXT else column
    return call("TIMESTAMP_SECONDS" if is_seconds else "TIMESTAMP_MILLIS", count)


def _as_timestamp(column: exp.Expr, _format: TimeFormat) -> exp.Expr:
    return nodes.cast(column, Type.TIMESTAMP)


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: lambda column, _format: column,
        TimeEncoding.DATE: _as_timestamp,
        TimeEncoding.TIMESTAMPTZ: lambda column, _format: column,
        TimeEncoding.ISO_TEXT: _as_timestamp,
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


def _cut_seconds(moment: exp.Expr, seconds: int) -> exp.Expr:
    since = call("UNIX_SECONDS", _truncate(moment, "second"))
    return call("TIMESTAMP_SECONDS", minus(since, call("PMOD", since.copy(), number(seconds))))


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return exp.Paren(this=_add(moment, hours, "HOUR")) if hours else moment


_bucket = buckets_by_truncation(truncate=_truncate, add_days=_add_days, cut_seconds=_cut_seconds)
_COMPARISON = MomentComparison(moment=_moment, zoned=Zoned.NAIVE)
_KINDS: Mapping[str, ValueKind] = MappingProxyType({"VOID": ValueKind.UNKNOWN})


_REGISTERED_AS: Mapping[str, str] = MappingProxyType(
    {"databricks": "databricks", "thrift": "hive", "http": "hive+http", "https": "hive+https"}
)


def databricks_spec() -> EngineSpec:
    """Return the facts of Databricks."""
    return _spec(name="databricks", label="Databricks", drivers=("databricks",), paramstyle=ParamStyle.NAMED)


def spark_spec() -> EngineSpec:
    """Return the facts of Spark, which is reached by Hive's protocol."""
    drivers = ("thrift", "http", "https")
    return _spec(name="spark", label="Spark", drivers=drivers, paramstyle=ParamStyle.PYFORMAT, aliases=("hive",))


def _spec(
    *, name: str, label: str, drivers: tuple[str, ...], paramstyle: ParamStyle, aliases: tuple[str, ...] = ()
) -> EngineSpec:
    return EngineSpec(
        name=name,
        label=label,
        dialect=name,
        aliases=aliases,
        drivers=drivers,
        registered_as=_REGISTERED_AS,
        paramstyle=paramstyle,
        extra_name=name,
        max_identifier_bytes=255,
        fence=fences.limited(2**31 - 1),  # LIMIT takes a 32-bit number there
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=operators.unchanged,
        text_equal=operators.unchanged,
        text_order=operators.unchanged,
        like=operators.like_where_case_counts(has_ilike=False),
        as_text=operators.cast_to(Type.TEXT),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(operators.unchanged),
        count_distinct=operators.count_distinct_by(operators.unchanged),
        is_true=operators.is_true,
        in_list=operators.in_list_of(),
        literal=LiteralStyle(dialect=name).write,
        value_kind=kind_reader(_KINDS),
        null_safe_equal=operators.null_safe_equal,
        error_patterns=ERROR_PATTERNS.get(name, ()),
        denied_functions=DENIED_FUNCTIONS[name],
        allowed_functions=ALLOWED_FUNCTIONS[name],
    )
