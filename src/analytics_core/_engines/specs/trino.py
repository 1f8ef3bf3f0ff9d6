"""Trino, and Presto as its elder: the same functions, but Presto's timestamps have milliseconds only.

Not run here; written from the documentation. Neither result nor bound depends on the session's time zone.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from analytics_core._engines import nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import Moment, MomentComparison, written_format, written_text
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.grains import EPOCH, buckets_by_truncation, cut_by_remainder
from analytics_core._engines.kinds import kind_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import Type, call, equal, number, text, times
from analytics_core._engines.spec import EngineSpec, ParamStyle
from analytics_core._engines.tokens import MYSQL, write_tokens
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind

_ZONE_AT_END = "(Z|[+-][0-9]{2}:[0-9]{2})$"


def _moment_with(precision: tuple[int, ...], from_iso: str) -> Moment:
    """Return `moment` for timestamps of a precision; `from_iso` parses ISO text to a zoned timestamp."""

    def as_timestamp(node: exp.Expr) -> exp.Expr:
        return nodes.cast(node, Type.TIMESTAMP, *precision)

    def in_utc(node: exp.Expr) -> exp.Expr:
        return as_timestamp(call("AT_TIMEZONE", node, text("UTC")))

    def iso_moment(column: exp.Expr, _format: TimeFormat) -> exp.Expr:
        return in_utc(call(from_iso, _zoned_iso(column)))

    def written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
        source = written_text(column, time_format, Type.VARCHAR)
        return call("DATE_PARSE", source, text(write_tokens(written_format(time_format), MYSQL)))

    def epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
        unit, count = _epoch_count(column, time_format)
        return call("DATE_ADD", text(unit), count, as_timestamp(text(EPOCH)))

    moments: dict[TimeEncoding, Moment] = {
        TimeEncoding.TIMESTAMP: lambda column, _format: column,
        TimeEncoding.DATE: lambda column, _format: as_timestamp(column),
        TimeEncoding.TIMESTAMPTZ: lambda column, _format: in_utc(column),
        TimeEncoding.ISO_TEXT: iso_moment,
        TimeEncoding.TEXT: written_moment,
        TimeEncoding.EPOCH_S: epoch_moment,
        TimeEncoding.EPOCH_MS: epoch_moment,
    }
    return lambda column, time_format: moments[time_format.encoding](column, time_format)


def _zoned_iso(column: exp.Expr) -> exp.Expr:
    """Return ISO text with a `T` and a zone, UTC where none is written: the parser would take the session's."""
    iso = call("REPLACE", column, text(" "), text("T"))
    is_day = equal(call("LENGTH", iso.copy()), number(10))
    has_zone = call("REGEXP_LIKE", iso.copy(), text(_ZONE_AT_END))
    return nodes.when(
        (is_day, call("CONCAT", iso.copy(), text("T00:00:00Z"))),
        (has_zone, iso.copy()),
        otherwise=call("CONCAT", iso, text("Z")),
    )


def _epoch_count(column: exp.Expr, time_format: TimeFormat) -> tuple[str, exp.Expr]:
    """Return the unit and the whole number of it since 1970; fractions of seconds become milliseconds."""
    is_seconds = time_format.encoding is TimeEncoding.EPOCH_S
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        millis = times(column, number(1000)) if is_seconds else column
        return "millisecond", nodes.cast(call("FLOOR", millis), Type.BIGINT)
    count = nodes.cast(column, Type.BIGINT) if time_format.value_kind is ValueKind.TEXT else column
    return ("second" if is_seconds else "millisecond"), count


def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    return call("DATE_TRUNC", text(unit), moment)


def _add_days(moment: exp.Expr, days: int) -> exp.Expr:
    return call("DATE_ADD", text("day"), number(days), moment)


def _seconds_since_epoch(second: exp.Expr) -> exp.Expr:
    return call("DATE_DIFF", text("second"), nodes.timestamp(EPOCH), second)


def _subtract_seconds(second: exp.Expr, past: exp.Expr) -> exp.Expr:
    return call("DATE_ADD", text("second"), exp.Neg(this=past), second)


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return call("DATE_ADD", text("hour"), number(hours), moment) if hours else moment


def _nulls_first(_descending: bool) -> bool:
    return False


_bucket = buckets_by_truncation(
    truncate=_truncate,
    add_days=_add_days,
    cut_seconds=cut_by_remainder(
        truncate=_truncate, seconds_since_epoch=_seconds_since_epoch, subtract_seconds=_subtract_seconds
    ),
)
_LITERALS = LiteralStyle(dialect="trino")


def trino_spec() -> EngineSpec:
    """Return the facts of Trino."""
    return _spec(name="trino", label="Trino", driver="rest", moment=_moment_with((6,), "FROM_ISO8601_TIMESTAMP_NANOS"))


def presto_spec() -> EngineSpec:
    """Return the facts of Presto."""
    return _spec(name="presto", label="Presto", driver="rest", moment=_moment_with((), "FROM_ISO8601_TIMESTAMP"))


def _spec(*, name: str, label: str, driver: str, moment: Callable[[exp.Expr, TimeFormat], exp.Expr]) -> EngineSpec:
    comparison = MomentComparison(moment=moment)
    return EngineSpec(
        name=name,
        label=label,
        dialect=name,
        drivers=(driver,),
        registered_as={driver: name},
        paramstyle=ParamStyle.QMARK if name == "trino" else ParamStyle.PYFORMAT,
        extra_name="trino" if name == "trino" else "spark",
        moment=moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=comparison.bound,
        time_equal=comparison.equal,
        text_key=operators.unchanged,
        text_equal=operators.unchanged,
        text_order=operators.unchanged,
        like=operators.like_where_case_counts(has_ilike=False),
        as_text=operators.cast_to(Type.VARCHAR),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(operators.unchanged),
        count_distinct=operators.count_distinct_by(operators.unchanged),
        is_true=operators.equals_truth,
        in_list=operators.in_list_of(),
        literal=_LITERALS.write,
        value_kind=kind_reader(),
        null_safe_equal=operators.null_safe_equal,
        nulls_first_by_default=_nulls_first,
        error_patterns=ERROR_PATTERNS.get(name, ()),
        denied_functions=DENIED_FUNCTIONS[name],
        allowed_functions=ALLOWED_FUNCTIONS[name],
    )
