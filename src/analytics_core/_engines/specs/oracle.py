"""Oracle from 12.2: DATE holds a clock, '' is NULL, Booleans are numbers. Not run here; written from its documentation.

Buckets are DATE values. The driver binds datetimes as DATE, so bounds inside a second are cut to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import MomentComparison, Zoned, written_format
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.grains import EPOCH, buckets_by_truncation
from analytics_core._engines.kinds import kind_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import call, minus, number, plus, text, times, verbatim
from analytics_core._engines.spec import Bind, BindValue, EngineSpec, ParamStyle
from analytics_core._engines.tokens import ORACLE, write_tokens
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind

_LONGEST_LIST = 1000
_WHOLE_TEXT = "0000-00-00 00:00:00.000000"
_OFFSET_AT_END = "[+-][0-9]{2}:[0-9]{2}$"
_ZONED_FORMAT = "YYYY-MM-DD HH24:MI:SS.FF6TZH:TZM"


# ------------------------------------------------------------------------------------------------------------ moments
def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _iso_moment(column: exp.Expr, _format: TimeFormat) -> exp.Expr:
    """Fill the text up to microseconds and an offset; NULL would become text by `||` and is kept apart."""
    blank = call("REPLACE", column.copy(), text("T"), text(" "))
    base = call("REGEXP_REPLACE", blank, text(f"(Z|{_OFFSET_AT_END[:-1]})$"))
    missing = call("SUBSTR", text(_WHOLE_TEXT), plus(call("LENGTH", base.copy()), number(1)))
    offset = call("COALESCE", call("REGEXP_SUBSTR", column.copy(), text(_OFFSET_AT_END)), text("+00:00"))
    parsed = call("TO_TIMESTAMP_TZ", nodes.joined(base, missing, offset), text(_ZONED_FORMAT))
    return _where_not_null(column, call("SYS_EXTRACT_UTC", parsed))


def _where_not_null(column: exp.Expr, value: exp.Expr) -> exp.Expr:
    not_null = exp.Not(this=exp.Is(this=nodes.operand(column), expression=exp.Null()))
    return nodes.when((not_null, value))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Add the month and the day where the text has none: Oracle would take the present month."""
    parsed = written_format(time_format)
    source, written = call("TO_CHAR", column), write_tokens(parsed, ORACLE)
    for letter in parsed.missing_parts():
        source, written = nodes.joined(source, text(" 01")), f"{written} {ORACLE.tokens[letter]}"
    arguments = [source, text(written)]
    if {"b", "B"} & set(parsed.directives):
        arguments.append(text("NLS_DATE_LANGUAGE=ENGLISH"))
    return _where_not_null(column.copy(), call("TO_TIMESTAMP", *arguments))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    count = call("TO_NUMBER", column) if time_format.value_kind is ValueKind.TEXT else column
    seconds = count
    if time_format.encoding is TimeEncoding.EPOCH_MS:
        seconds = exp.Div(this=nodes.operand(count), expression=number(1000), typed=False)
    return exp.Paren(this=plus(verbatim(f"TIMESTAMP '{EPOCH}'"), _seconds(seconds)))


def _seconds(count: exp.Expr) -> exp.Expr:
    return call("NUMTODSINTERVAL", count, text("SECOND"))


def _unchanged(column: exp.Expr, _format: TimeFormat) -> exp.Expr:
    return column


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: _unchanged,
        TimeEncoding.DATE: _unchanged,
        TimeEncoding.TIMESTAMPTZ: lambda column, _format: call("SYS_EXTRACT_UTC", column),
        TimeEncoding.ISO_TEXT: _iso_moment,
        TimeEncoding.TEXT: _written_moment,
        TimeEncoding.EPOCH_S: _epoch_moment,
        TimeEncoding.EPOCH_MS: _epoch_moment,
    }
)


# ------------------------------------------------------------------------------------------------------------ buckets
def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    """Truncate to a DATE; IW is the ISO week whatever the session's territory."""
    if unit == "second":
        return _cut_seconds(moment, 1)
    return call("TRUNC", moment, text(_UNITS[unit]))


_UNITS: Mapping[str, str] = MappingProxyType(
    {"minute": "MI", "hour": "HH24", "day": "DD", "week": "IW", "month": "MM", "quarter": "Q", "year": "YYYY"}
)


def _cut_seconds(moment: exp.Expr, size: int) -> exp.Expr:
    """Count from midnight with the days since 1970 before it; SSSSS cuts fractions, where casts may round."""
    day = call("TRUNC", moment.copy())
    clock = call("TO_NUMBER", call("TO_CHAR", moment, text("SSSSS")))
    days = exp.Paren(this=minus(day.copy(), verbatim("DATE '1970-01-01'")))
    since = plus(clock.copy(), times(days, number(86_400)))
    past = nodes.mod(plus(nodes.mod(since, number(size)), number(size)), number(size))
    return plus(day, _seconds(minus(clock, past)))


def _add_days(moment: exp.Expr, days: int) -> exp.Expr:
    return plus(moment, call("NUMTODSINTERVAL", number(days), text("DAY")))


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return exp.Paren(this=plus(moment, call("NUMTODSINTERVAL", number(hours), text("HOUR")))) if hours else moment


# ---------------------------------------------------------------------------------------------------------- operators
def _by_code_point(node: exp.Expr) -> exp.Expr:
    return nodes.collate(node, "BINARY")


def _is_true(node: exp.Expr, kind: ValueKind, truth: bool) -> exp.Expr:
    """Booleans of version 23 are compared as numbers, as those of older ones are."""
    return operators.is_true_of_bit(operators.as_number(node) if kind is ValueKind.BOOLEAN else node, kind, truth)


def _in_list(left: exp.Expr, values: Sequence[BindValue], kind: ValueKind, bind: Bind) -> exp.Expr:
    """A list takes 1,000 members; longer ones are several."""
    chunks = [values[start : start + _LONGEST_LIST] for start in range(0, len(values), _LONGEST_LIST)]
    parts = [_in_chunk(left.copy(), chunk, kind, bind) for chunk in chunks]
    found = parts[0]
    for part in parts[1:]:
        found = exp.Or(this=found, expression=part)
    return exp.Paren(this=found) if len(parts) > 1 else found


def _nulls_first(descending: bool) -> bool:
    return descending


_in_chunk = operators.in_list_of(_by_code_point)
_bucket = buckets_by_truncation(truncate=_truncate, add_days=_add_days, cut_seconds=_cut_seconds)
_COMPARISON = MomentComparison(moment=_moment, zoned=Zoned.DECODED)
_LITERALS = LiteralStyle(dialect="oracle", binary="HEXTORAW('{}')", true="1", false="0")
_KINDS: Mapping[str, ValueKind] = MappingProxyType(
    {"DATE": ValueKind.TIMESTAMP, "LONG": ValueKind.TEXT, "ROWID": ValueKind.TEXT, "UROWID": ValueKind.TEXT}
)


def oracle_spec() -> EngineSpec:
    """Return the facts of Oracle."""
    return EngineSpec(
        name="oracle",
        label="Oracle",
        dialect="oracle",
        drivers=("oracledb",),
        paramstyle=ParamStyle.NAMED,
        extra_name="oracle",
        max_identifier_bytes=128,
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=_by_code_point,
        text_equal=_by_code_point,
        text_order=_by_code_point,
        like=operators.like_where_case_counts(has_ilike=False),
        as_text=operators.calling("TO_CHAR"),
        average=lambda node: exp.Avg(this=call("TO_BINARY_DOUBLE", node)),
        sum_=operators.sum_,
        extreme=operators.extreme_by(_by_code_point),
        count_distinct=operators.count_distinct_by(_by_code_point),
        is_true=_is_true,
        in_list=_in_list,
        literal=_LITERALS.write,
        value_kind=kind_reader(_KINDS),
        null_safe_equal=operators.null_safe_equal_spelled,
        nulls_first_by_default=_nulls_first,
        error_patterns=ERROR_PATTERNS.get("oracle", ()),
        denied_functions=DENIED_FUNCTIONS["oracle"],
        allowed_functions=ALLOWED_FUNCTIONS["oracle"],
    )
