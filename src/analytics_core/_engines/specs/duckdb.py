"""DuckDB: microsecond timestamps, text by code point, LIKE minds case (SQL_TRAPS.md, sections 3 to 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType

from sqlglot import exp
from sqlglot.errors import SqlglotError

from analytics_core._engines import fences, nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import MomentComparison, written_format, written_text
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.grains import EPOCH, amount_and_unit, buckets_by_truncation
from analytics_core._engines.kinds import kind_reader, range_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import Type
from analytics_core._engines.spec import BindScalar, EngineSpec, ParamStyle
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind


def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    written = written_format(time_format).source
    text = written_text(column, time_format, Type.TEXT)
    return nodes.call("TRY_STRPTIME", text, nodes.text(written))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Count in microseconds; MAKE_TIMESTAMP takes whole numbers only, so fractions are cut downwards."""
    factor = 1_000_000 if time_format.encoding is TimeEncoding.EPOCH_S else 1_000
    kind = time_format.value_kind
    whole = nodes.try_cast(column, Type.BIGINT) if kind is ValueKind.TEXT else column
    micros = nodes.times(whole, nodes.number(factor))
    if kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        micros = nodes.cast(nodes.call("FLOOR", micros), Type.BIGINT)
    return nodes.call("MAKE_TIMESTAMP", micros)


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: lambda column, _format: column,
        TimeEncoding.DATE: lambda column, _format: nodes.cast(column, Type.TIMESTAMP),
        TimeEncoding.TIMESTAMPTZ: lambda column, _format: nodes.utc(column),
        TimeEncoding.ISO_TEXT: lambda column, _format: nodes.utc(nodes.try_cast(column, Type.TIMESTAMPTZ)),
        TimeEncoding.TEXT: _written_moment,
        TimeEncoding.EPOCH_S: _epoch_moment,
        TimeEncoding.EPOCH_MS: _epoch_moment,
    }
)


_OF_A_TYPE = (exp.DataType, exp.DataTypeParam, exp.Literal)


def _as_declared(column: exp.Expr, type_text: str) -> exp.Expr | None:
    """Return the column behind TRY_CAST, which DuckDB leaves out where the type is the column's own."""
    try:
        declared = exp.DataType.build(type_text, dialect="duckdb")
    except SqlglotError:
        return None
    if not all(isinstance(node, _OF_A_TYPE) for node in declared.walk()):
        return None
    return exp.TryCast(this=column, to=declared)


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
    """Give the origin always: without it TIME_BUCKET begins in the year 2000."""
    return nodes.call("TIME_BUCKET", _interval(*amount_and_unit(seconds)), moment, nodes.timestamp(EPOCH))


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return exp.Paren(this=_add(moment, hours, "HOUR")) if hours else moment


_bucket = buckets_by_truncation(truncate=_truncate, add_days=_add_days, cut_seconds=_cut_seconds)
_COMPARISON = MomentComparison(moment=_moment, tries_casts=True)
_LITERALS = LiteralStyle(
    dialect="duckdb", timestamp_tz="TIMESTAMPTZ {}", binary="'{}'::BLOB", byte_prefix="\\x", members="[{}]"
)


_BITS: Mapping[str, int] = MappingProxyType(
    {
        "TINYINT": 8,
        "SMALLINT": 16,
        "INTEGER": 32,
        "BIGINT": 64,
        "HUGEINT": 128,
        "UTINYINT": -8,
        "USMALLINT": -16,
        "UINTEGER": -32,
        "UBIGINT": -64,
        "UHUGEINT": -128,
    }
)


def _number(number: int | Decimal) -> BindScalar:
    """Whole numbers beyond 128 bits have no type."""
    return float(number) if isinstance(number, int) and not -(2**127) <= number < 2**128 else number


def _nulls_first(_descending: bool) -> bool:
    return False


def duckdb_spec() -> EngineSpec:
    """Return the facts of DuckDB."""
    return EngineSpec(
        name="duckdb",
        label="DuckDB",
        dialect="duckdb",
        drivers=("duckdb_sqlalchemy", "duckdb_engine"),
        paramstyle=ParamStyle.NUMERIC_DOLLAR,
        extra_name="duckdb",
        folds_names=True,
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=operators.unchanged,
        text_equal=operators.unchanged,
        text_order=operators.unchanged,
        like=operators.like_where_case_counts(has_ilike=True),
        as_text=operators.cast_to(Type.TEXT),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(operators.unchanged),
        count_distinct=operators.count_distinct_by(operators.unchanged),
        is_true=operators.is_true,
        in_list=operators.in_array(),
        literal=_LITERALS.write,
        value_kind=kind_reader(),
        null_safe_equal=operators.null_safe_equal,
        number_range=range_reader(_BITS),
        number=_number,
        unsortable_kinds=frozenset(),
        nulls_first_by_default=_nulls_first,
        fence=fences.materialised,
        as_declared=_as_declared,
        error_patterns=ERROR_PATTERNS.get("duckdb", ()),
        denied_functions=DENIED_FUNCTIONS["duckdb"],
        allowed_functions=ALLOWED_FUNCTIONS["duckdb"],
    )
