"""MariaDB and MySQL: text compares without case, accents and trailing blanks unless a collation says otherwise.

Measured on MariaDB 10.11 (SQL_TRAPS.md, sections 3 to 5). TIMESTAMP columns hold UTC moments because sessions run in
UTC. MySQL 8 has no `utf8mb4_nopad_bin`: give `mysql_spec` its `utf8mb4_0900_bin`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from analytics_core._engines import fences, nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import MomentComparison, Zoned, written_format
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.grains import EPOCH, SECONDS
from analytics_core._engines.kinds import kind_reader, range_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import Type, call, interval, minus, number, plus, text, times, whole_quotient
from analytics_core._engines.partitions import MYSQL_PARTITIONS
from analytics_core._engines.spec import Bind, EngineSpec, ParamStyle
from analytics_core._engines.tokens import MYSQL, write_tokens
from analytics_core._engines.types import Collation, TimeEncoding, TimeFormat, ValueKind
from analytics_core.errors import FilterValueError
from analytics_core.models.enums import TimeGrain

MARIADB_COLLATION = "utf8mb4_nopad_bin"
"""Compares by code point, trailing blanks included."""

_PATTERN_COLLATION = "utf8mb4_bin"
_DAY = 86_400


# ------------------------------------------------------------------------------------------------------------ moments
def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _iso_moment(column: exp.Expr, _format: TimeFormat) -> exp.Expr:
    """Apply a UTC offset at the end of the text, which the cast would drop without a word."""
    length = call("CHAR_LENGTH", column.copy())
    sign = call("SUBSTRING", column.copy(), number(-6), number(1))
    has_offset = exp.And(
        this=exp.GT(this=length.copy(), expression=number(10)),
        expression=exp.In(this=sign, expressions=[text("+"), text("-")]),
    )
    offset = call("RIGHT", column.copy(), number(6))
    moved = call("SUBTIME", _as_datetime(_without_end(column, 6)), offset)
    is_utc = nodes.equal(call("RIGHT", column.copy(), number(1)), text("Z"))
    return nodes.when(
        (is_utc, _as_datetime(_without_end(column, 1))), (has_offset, moved), otherwise=_as_datetime(column)
    )


def _without_end(column: exp.Expr, characters: int) -> exp.Expr:
    return call("LEFT", column.copy(), minus(call("CHAR_LENGTH", column.copy()), number(characters)))


def _as_datetime(node: exp.Expr) -> exp.Expr:
    return nodes.cast(node, Type.DATETIME, 6)


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Add the month and the day where the text has none: STR_TO_DATE would leave them 0."""
    parsed = written_format(time_format)
    written, added = write_tokens(parsed, MYSQL), ""
    for letter in parsed.missing_parts():
        written, added = f"{written} %{letter}", f"{added} 01"
    source = nodes.joined(column, text(added)) if added else column
    return call("TIMESTAMP", call("STR_TO_DATE", source, text(written)))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    count = nodes.cast(column, Type.BIGINT) if time_format.value_kind is ValueKind.TEXT else column
    if time_format.encoding is TimeEncoding.EPOCH_S:
        return exp.Paren(this=plus(_epoch(), interval(nodes.operand(count), "SECOND")))
    return exp.Paren(this=plus(_epoch(), interval(times(count, number(1000)), "MICROSECOND")))


def _epoch() -> exp.Expr:
    return call("TIMESTAMP", text(EPOCH))


def _unchanged(column: exp.Expr, _format: TimeFormat) -> exp.Expr:
    return column


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: _unchanged,
        TimeEncoding.DATE: _unchanged,
        TimeEncoding.TIMESTAMPTZ: _unchanged,
        TimeEncoding.ISO_TEXT: _iso_moment,
        TimeEncoding.TEXT: _written_moment,
        TimeEncoding.EPOCH_S: _epoch_moment,
        TimeEncoding.EPOCH_MS: _epoch_moment,
    }
)


# ------------------------------------------------------------------------------------------------------------ buckets
def _bucket(moment: exp.Expr, grain: TimeGrain) -> exp.Expr:
    seconds = SECONDS.get(grain)
    if seconds is None:
        return _CALENDAR[grain](moment)
    return _seconds_of_day(moment, seconds) if _DAY % seconds == 0 else _seconds_of_all_time(moment, seconds)


def _day(moment: exp.Expr) -> exp.Expr:
    return call("DATE", moment.copy())


def _clock_seconds(moment: exp.Expr) -> exp.Expr:
    return call("TIME_TO_SEC", call("TIME", moment.copy()))


def _seconds_of_day(moment: exp.Expr, seconds: int) -> exp.Expr:
    """Count from midnight, which is the same for grains that divide a day and stays right before 1970."""
    steps = exp.Paren(this=whole_quotient(_clock_seconds(moment), number(seconds)))
    return plus(call("TIMESTAMP", _day(moment)), interval(exp.Paren(this=times(steps, number(seconds))), "SECOND"))


def _seconds_of_all_time(moment: exp.Expr, seconds: int) -> exp.Expr:
    since = plus(
        call("TIMESTAMPDIFF", exp.Var(this="SECOND"), text(EPOCH), _day(moment)),
        whole_quotient(_clock_seconds(moment), number(1)),
    )
    size = number(seconds)
    past = call("MOD", plus(call("MOD", since, size), size.copy()), size.copy())
    return plus(_epoch(), interval(exp.Paren(this=minus(since.copy(), past)), "SECOND"))


def _days_moved(moment: exp.Expr, days: exp.Expr) -> exp.Expr:
    return call("TIMESTAMP", plus(_day(moment), interval(exp.Paren(this=days), "DAY")))


def _week_starting_monday(moment: exp.Expr) -> exp.Expr:
    return _days_moved(moment, exp.Neg(this=call("WEEKDAY", moment.copy())))


def _week_starting_sunday(moment: exp.Expr) -> exp.Expr:
    return _days_moved(moment, minus(number(1), call("DAYOFWEEK", moment.copy())))


def _week_ending_saturday(moment: exp.Expr) -> exp.Expr:
    return _days_moved(moment, minus(number(7), call("DAYOFWEEK", moment.copy())))


def _week_ending_sunday(moment: exp.Expr) -> exp.Expr:
    return _days_moved(moment, minus(number(6), call("WEEKDAY", moment.copy())))


def _month(moment: exp.Expr) -> exp.Expr:
    return _days_moved(moment, minus(number(1), call("DAYOFMONTH", moment.copy())))


def _quarter(moment: exp.Expr) -> exp.Expr:
    quarters = exp.Paren(this=minus(call("QUARTER", moment.copy()), number(1)))
    return call("TIMESTAMP", plus(_first_of_year(moment), interval(quarters, "QUARTER")))


def _year(moment: exp.Expr) -> exp.Expr:
    return call("TIMESTAMP", _first_of_year(moment))


def _first_of_year(moment: exp.Expr) -> exp.Expr:
    return call("MAKEDATE", call("YEAR", moment.copy()), number(1))


_CALENDAR: Mapping[TimeGrain, Callable[[exp.Expr], exp.Expr]] = MappingProxyType(
    {
        TimeGrain.DAY: lambda moment: call("TIMESTAMP", _day(moment)),
        TimeGrain.WEEK: _week_starting_monday,
        TimeGrain.WEEK_STARTING_MONDAY: _week_starting_monday,
        TimeGrain.WEEK_STARTING_SUNDAY: _week_starting_sunday,
        TimeGrain.WEEK_ENDING_SATURDAY: _week_ending_saturday,
        TimeGrain.WEEK_ENDING_SUNDAY: _week_ending_sunday,
        TimeGrain.MONTH: _month,
        TimeGrain.QUARTER: _quarter,
        TimeGrain.YEAR: _year,
    }
)


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return exp.Paren(this=plus(moment, interval(number(hours), "HOUR"))) if hours else moment


# ---------------------------------------------------------------------------------------------------------- operators
def _as_utf8(node: exp.Expr) -> exp.Expr:
    """Return `CONVERT(node USING utf8mb4)`: collations of utf8mb4 cannot be put on text of other character sets."""
    character_set = exp.DataType(this=Type.CHARACTER_SET, kind=exp.Var(this="utf8mb4"))
    return exp.Cast(this=node, to=character_set)


def _as_double(node: exp.Expr) -> exp.Expr:
    """The server writes FLOAT with six digits, and compares it with all that it has."""
    return nodes.cast(node, Type.DOUBLE)


_FOLDED: Final = re.compile(
    "[\\u0041-\\u012f\\u0131-\\u017f\\u0386-\\u03ce\\u0400-\\u045f\\u0490\\u0491\\u0531-\\u0586]"
)
"""Letters whose case MariaDB folds as the other engines do, as measured; later ones it leaves as they are."""


def _refuse_unfolded(pattern: str) -> None:
    for letter in pattern:
        if letter.lower() != letter.upper() and not _FOLDED.match(letter):
            raise FilterValueError(
                f"ILIKE: MariaDB does not fold the case of {letter!r}; use LIKE, or leave the letter out"
            )


def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    if fold_case:
        _refuse_unfolded(pattern)

    def match(value: exp.Expr) -> exp.Expr:
        sides = (call("LOWER", left), call("LOWER", value)) if fold_case else (left, value)
        return exp.Like(this=nodes.operand(sides[0]), expression=nodes.collate(sides[1], _PATTERN_COLLATION))

    return operators.matching(match, pattern, bind)


def _tie_keys(node: exp.Expr, kind: ValueKind, length: int | None) -> tuple[exp.Expr, ...]:
    """Sort by a digest too where values are long: the server sorts by their first 1,024 bytes (`max_sort_length`)."""
    is_short = kind not in _LONG_KINDS or (length is not None and length <= _SORTED_WHOLE)
    return (node,) if is_short else (node, call("MD5", node.copy()))


_SORTED_WHOLE = 256
"""Characters, of up to four bytes."""

_LONG_KINDS = (ValueKind.TEXT, ValueKind.BYTES, ValueKind.OTHER, ValueKind.UNKNOWN)
_COMPARISON = MomentComparison(moment=_moment, zoned=Zoned.NAIVE)
_LITERALS = LiteralStyle(dialect="mysql")
_KINDS: Mapping[str, ValueKind] = MappingProxyType(
    {"TINYINT(1)": ValueKind.BOOLEAN, "BIT(1)": ValueKind.BOOLEAN, "BIT": ValueKind.INTEGER}
)
_BITS: Mapping[str, int] = MappingProxyType(
    {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "INTEGER": 32, "BIGINT": 64}
)


def _collation_by(code_point: str) -> Callable[[str | None], Collation]:
    def collation(name: str | None) -> Collation:
        if name == code_point:
            return Collation.CODE_POINT
        return Collation.UTF8 if name is not None and name.startswith("utf8mb4_") else Collation.UNKNOWN

    return collation


def _key_by(collation: str) -> operators.ToNode:
    return lambda node: nodes.collate(_as_utf8(node), collation)


def mysql_spec(*, collation: str = MARIADB_COLLATION) -> EngineSpec:
    """Return the facts of MariaDB and MySQL; `collation` compares utf8mb4 text by code point."""
    text_key, text_value = _key_by(collation), partial(nodes.collate, name=collation)
    return EngineSpec(
        name="mysql",
        label="MariaDB or MySQL",
        dialect="mysql",
        aliases=("mariadb",),
        drivers=("pymysql",),
        paramstyle=ParamStyle.PYFORMAT,
        extra_name="mysql",
        folds_names=True,
        max_identifier_bytes=256,
        largest_identifier_character="\uffff",
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=text_key,
        all_digits=_as_double,
        text_equal=text_value,
        text_order=text_value,
        like=_like,
        as_text=_as_utf8,
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(text_key, all_digits=_as_double),
        count_distinct=operators.count_distinct_by(text_key),
        is_true=operators.is_true,
        in_list=operators.in_list_of(text_value),
        literal=_LITERALS.write,
        value_kind=kind_reader(_KINDS),
        unsortable_kinds=frozenset(),
        tie_keys=_tie_keys,
        collation=_collation_by(collation),
        splits_nulls=True,
        searches_by_own_collation=True,
        null_safe_equal=operators.null_safe_equal,
        number_range=range_reader(_BITS, bit_fields=True),
        fence=fences.limited(2**64 - 1),
        partitions=MYSQL_PARTITIONS,
        casts_columns=False,
        error_patterns=ERROR_PATTERNS.get("mysql", ()),
        denied_functions=DENIED_FUNCTIONS["mysql"],
        allowed_functions=ALLOWED_FUNCTIONS["mysql"],
    )
