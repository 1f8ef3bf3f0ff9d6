"""PostgreSQL from version 14: zoned and naive timestamps apart, collations given always (SQL_TRAPS.md, 3 to 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import fences, nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import MomentComparison, written_format, written_text
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.grains import EPOCH, amount_and_unit, buckets_by_truncation
from analytics_core._engines.kinds import kind_reader, range_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import Type
from analytics_core._engines.partitions import POSTGRES_PARTITIONS
from analytics_core._engines.spec import Bind, EngineSpec, ParamStyle
from analytics_core._engines.tokens import POSTGRES, write_tokens
from analytics_core._engines.types import Collation, TimeEncoding, TimeFormat, ValueKind


def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    parsed = written_format(time_format)
    text = written_text(column, time_format, Type.TEXT)
    function = "TO_TIMESTAMP" if parsed.has_clock() else "TO_DATE"
    return nodes.cast(nodes.call(function, text, nodes.text(write_tokens(parsed, POSTGRES))), Type.TIMESTAMP)


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    unit = "SECOND" if time_format.encoding is TimeEncoding.EPOCH_S else "MILLISECOND"
    count = nodes.cast(column, Type.BIGINT) if time_format.value_kind is ValueKind.TEXT else column
    since = nodes.times(count, _interval(1, unit))
    return exp.Paren(this=exp.Add(this=nodes.timestamp(EPOCH), expression=since))


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


def _interval(amount: int, unit: str) -> exp.Interval:
    return nodes.interval(nodes.text(str(amount)), unit)


def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    return nodes.call("DATE_TRUNC", nodes.text(unit), moment)


def _add_days(moment: exp.Expr, days: int) -> exp.Expr:
    return _add(moment, days, "DAY")


def _add(moment: exp.Expr, amount: int, unit: str) -> exp.Expr:
    operation = nodes.plus if amount > 0 else nodes.minus
    return operation(moment, _interval(abs(amount), unit))


def _cut_seconds(moment: exp.Expr, seconds: int) -> exp.Expr:
    return nodes.call("DATE_BIN", _interval(*amount_and_unit(seconds)), moment, nodes.timestamp(EPOCH))


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return exp.Paren(this=_add(moment, hours, "HOUR")) if hours else moment


def _by_code_point(node: exp.Expr) -> exp.Expr:
    return nodes.collate(node, "C", quoted=True)


def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    """Fold case by ICU always: a database of locale C would fold ASCII letters only."""

    def match(value: exp.Expr) -> exp.Expr:
        if not fold_case:
            return exp.Like(this=nodes.operand(left), expression=value)
        return exp.ILike(this=nodes.operand(left), expression=nodes.collate(value, "und-x-icu", quoted=True))

    return operators.matching(match, pattern, bind)


def _average(node: exp.Expr) -> exp.Expr:
    return nodes.cast(exp.Avg(this=node), Type.DOUBLE)


def _hashed_equal(left: exp.Expr, right: exp.Expr, kind: ValueKind) -> exp.Expr:
    """Give NULL a value of the type; where the type is not known, compare arrays, in which NULLs are equal."""
    if kind not in _STAND_INS:
        return nodes.equal(exp.Array(expressions=[left]), exp.Array(expressions=[right]))
    sides = [exp.Coalesce(this=side, expressions=[nodes.text(_STAND_INS[kind])]) for side in (left, right)]
    return nodes.equal(*sides)


_STAND_INS: Mapping[ValueKind, str] = MappingProxyType(
    {
        **dict.fromkeys((ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.DECIMAL, ValueKind.BOOLEAN), "0"),
        **dict.fromkeys((ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.TIMESTAMPTZ), "1970-01-01"),
        ValueKind.TEXT: "",
    }
)
"""A literal without a type takes that of the column."""


def _tie_keys(node: exp.Expr, kind: ValueKind, _length: int | None) -> tuple[exp.Expr, ...]:
    """Sort as text what may have no order of its own: json, xml, point; every type can be written as text."""
    if kind not in (ValueKind.OTHER, ValueKind.UNKNOWN):
        return (node,)
    return (_by_code_point(nodes.cast(nodes.operand(node), Type.TEXT)),)


def _collation(name: str | None) -> Collation:
    if name is None:
        return Collation.UNKNOWN
    if name in ("C", "POSIX"):
        return Collation.CODE_POINT
    return Collation.FOLDED if name.endswith(NOT_DETERMINISTIC) else Collation.EXACT


def _nulls_first(descending: bool) -> bool:
    return descending


_bucket = buckets_by_truncation(truncate=_truncate, add_days=_add_days, cut_seconds=_cut_seconds)
_COMPARISON = MomentComparison(moment=_moment)
_LITERALS = LiteralStyle(
    dialect="postgres", timestamp_tz="TIMESTAMPTZ {}", binary="'\\x{}'::BYTEA", members="ARRAY[{}]"
)
NOT_DETERMINISTIC = " (not deterministic)"
"""Stands behind the name of a collation that takes texts for equal which are not the same."""

_KINDS: Mapping[str, ValueKind] = MappingProxyType(
    {"MONEY": ValueKind.OTHER, "OID": ValueKind.INTEGER, "BYTEA": ValueKind.BYTES}
)
_BITS: Mapping[str, int] = MappingProxyType({"SMALLINT": 16, "INTEGER": 32, "BIGINT": 64})


def postgresql_spec() -> EngineSpec:
    """Return the facts of PostgreSQL."""
    return EngineSpec(
        name="postgresql",
        label="PostgreSQL",
        dialect="postgres",
        aliases=("postgres",),
        drivers=("psycopg",),
        paramstyle=ParamStyle.PYFORMAT,
        extra_name="postgres",
        max_identifier_bytes=63,
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=_by_code_point,
        text_equal=operators.unchanged,
        text_order=_by_code_point,
        like=_like,
        as_text=operators.cast_to(Type.TEXT),
        average=_average,
        sum_=operators.sum_,
        extreme=operators.extreme_by(_by_code_point),
        count_distinct=operators.count_distinct_by(_by_code_point),
        is_true=operators.is_true,
        in_list=operators.in_array(),
        literal=_LITERALS.write,
        value_kind=kind_reader(_KINDS),
        null_safe_equal=operators.null_safe_equal,
        number_range=range_reader(_BITS),
        unsortable_kinds=frozenset(),
        hashed_equal=_hashed_equal,
        tie_keys=_tie_keys,
        collation=_collation,
        splits_nulls=True,
        nulls_first_by_default=_nulls_first,
        allows_cost_estimate=True,
        fence=fences.joined_with_nothing,
        partitions=POSTGRES_PARTITIONS,
        guards_by_case=True,
        casts_columns=False,
        error_patterns=ERROR_PATTERNS.get("postgresql", ()),
        denied_functions=DENIED_FUNCTIONS["postgresql"],
        allowed_functions=ALLOWED_FUNCTIONS["postgresql"],
    )
